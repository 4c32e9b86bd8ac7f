"""Writes what the docs say from the code that says it: causes.md and triage.schema.json.

python docs/generate.py           writes both
python docs/generate.py --check   writes nothing; fails with one line where one is stale
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS.parent / "operator")]

from docs.fresh import keep  # noqa: E402

from gpu_triage.core.causes import Cause, Sense, Word  # noqa: E402
from gpu_triage.core.vocabulary import VOCABULARY  # noqa: E402
from gpu_triage.publish.supply import GPUNodeList  # noqa: E402
from gpu_triage.publish.triage import Triage, TriageList  # noqa: E402

COMMAND = "python docs/generate.py"
INTRODUCTION = f"""\
# The words

<!-- Written by {COMMAND} from operator/gpu_triage/core/vocabulary.py: change it there. -->

Why a pod that asks for a GPU is not running, in one word and a second one that refines it. The
words from `label-mismatch` to `exhausted` are steps in this order, and the first that stops the pod
is the word: it leaves the later ones nothing to look at. `unknown` takes the place of a word that
rests on something which could not be read. The same words stand in the annotation
`gpu-triage.io/cause`, in Events, in metrics and in the command's answers.
"""


def causes() -> str:
    """The page of words."""
    lines = [INTRODUCTION, "| word | says |", "|---|---|"]
    lines += [f"| [`{cause}`](#{cause}) | {VOCABULARY[cause].title} |" for cause in Cause]
    for cause in Cause:
        lines += ["", *_section(cause, VOCABULARY[cause])]
    return "\n".join(lines) + "\n"


def _section(cause: Cause, word: Word) -> Iterator[str]:
    yield f"## {cause}"
    yield ""
    yield f"**{word.title}**: {word.meaning}."
    yield ""
    published = any(sense.event is not None for sense in word.details.values())
    if word.rests_on:
        yield f"Rests on the pod and on {_and(word.rests_on)}."
    if published:
        yield f"Event reason: `{word.reason}`."
    if word.rests_on or published:
        yield ""
    yield "| detail | it means | next step | for | Event |"
    yield "|---|---|---|---|---|"
    for detail, sense in word.details.items():
        yield (
            f"| `{detail}` | {sense.meaning} | {sense.advice} | {_whom(sense)} |"
            f" {sense.event or '-'} |"
        )


def _whom(sense: Sense) -> str:
    if sense.event is None:
        return "-"
    return "who runs the cluster" if sense.audience == "platform" else "who made the pod"


def _and(kinds: tuple[str, ...]) -> str:
    names = {"pods": "other pods", "deviceclasses": "DeviceClasses"}
    shown = [names.get(kind, kind) for kind in kinds]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def schema() -> str:
    """The JSON Schema of what the command writes with -o json."""
    documents, parts = msgspec.json.schema_components(
        [Triage, TriageList, GPUNodeList], ref_template="#/$defs/{name}"
    )
    for part in parts.values():
        if "properties" in part:
            # The command writes every field, null where there is nothing to say.
            part["required"] = list(part["properties"])
    document: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpu-triage -o json",
        "description": "One pod: Triage. A report: TriageList. --nodes: GPUNodeList.",
        "oneOf": list(documents),
        "$defs": parts,
    }
    return json.dumps(document, indent=2) + "\n"


def main(arguments: list[str]) -> int:
    """Writes or checks; the exit code."""
    texts = {"causes.md": causes(), "triage.schema.json": schema()}
    return keep(DOCS, "docs", texts, COMMAND, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
