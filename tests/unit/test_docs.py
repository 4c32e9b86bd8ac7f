"""What the docs say is what the code says."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_triage.core.causes import Cause
from gpu_triage.core.vocabulary import VOCABULARY

DOCS = Path(__file__).parents[2] / "docs"
GENERATOR = DOCS / "generate.py"


@pytest.fixture
def generator(tmp_path):
    """The generator, with a folder of its own to write to."""
    specification = importlib.util.spec_from_file_location("generate", GENERATOR)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    module.DOCS = tmp_path
    return module


def test_the_written_docs_are_fresh():
    done = subprocess.run(
        [sys.executable, str(GENERATOR), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stale_page_is_one_line(generator, capsys):
    assert generator.main(["--check"]) == 1
    assert capsys.readouterr().err == (
        "docs/causes.md, docs/triage.schema.json stale: run `python docs/generate.py`\n"
    )
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    page = generator.DOCS / "causes.md"
    page.write_text(page.read_text() + "by hand\n")
    assert generator.main(["--check"]) == 1
    assert capsys.readouterr().err == "docs/causes.md stale: run `python docs/generate.py`\n"


def test_every_word_has_a_heading_and_every_detail_a_row():
    page = (DOCS / "causes.md").read_text()
    for cause in Cause:
        section = page.partition(f"\n## {cause}\n")[2].partition("\n## ")[0]
        rows = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
        assert rows == list(VOCABULARY[cause].details)
