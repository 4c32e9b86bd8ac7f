"""Writes deploy/rbac from the chart, which is the one source of the operator's rights.

python deploy/rbac.py           writes it
python deploy/rbac.py --check   writes nothing; fails with one line where something is stale
"""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs.fresh import keep  # noqa: E402
from tests.chart.helm import Helm  # noqa: E402

FOLDER = ROOT / "deploy" / "rbac"
PARTS = (
    "admission-policies",
    "clusterrole",
    "clusterrolebinding",
    "role",
    "rolebinding",
    "serviceaccount",
)
HEADER = "# Written by `make rbac` from deploy/helm/templates/{}.yaml: change it there.\n"
# What is true only of what Helm installs.
HELMS = r" +(?:helm\.sh/chart|app\.kubernetes\.io/(?:instance|version|managed-by)): .*\n"


def rendered() -> dict[str, str]:
    """Text by file name: the chart's rights, those of two replicas included."""
    with tempfile.TemporaryDirectory() as folder:
        helm = Helm(Path(folder))
        return {
            f"{part}.yaml": HEADER.format(part) + _plain(helm, f"templates/{part}.yaml")
            for part in PARTS
        }


def _plain(helm: Helm, template: str) -> str:
    text = helm.text({"replicas": 2}, "--show-only", template)
    text = re.sub(HELMS, "", text)
    documents = re.split(r"^---\n", text, flags=re.MULTILINE)
    bare = [re.sub(r"^# Source: .*\n", "", each).strip() for each in documents if each.strip()]
    return "\n---\n".join(bare) + "\n"


def main(arguments: list[str]) -> int:
    """Writes or checks; the exit code."""
    return keep(FOLDER, "deploy/rbac", rendered(), "make rbac", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
