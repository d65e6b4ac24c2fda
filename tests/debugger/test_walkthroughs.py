"""Every session in the documents, typed again: what is said is what the documents have.

`--bless` writes the documents anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from blockstep.compiler.passes import simplify
from tests.debugger.typed import play
from tests.debugger.walkthroughs import read, with_texts

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENTS = sorted([*DOCS.glob("walkthroughs/*.md"), DOCS / "debugging.md"])


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.stem)
def test_a_documented_session_says_what_the_document_has(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(simplify, "RULES", dict(simplify.RULES))  # one plants a fault there
    document = read(file)
    for name, text in document.scripts.items():
        (tmp_path / name).write_text(text)
    said = []
    for session in document.sessions:
        keys = "".join(f"{line}\r" for line in session.typed) + "\x04"
        ended = play(session.words, keys, tmp_path, monkeypatch)
        said.append(ended.text)
    if request.config.getoption("--bless"):
        file.write_text(with_texts(file.read_text(), said))
    assert [s.text for s in read(file).sessions] == said


def test_all_walkthroughs_are_there() -> None:
    assert len([file for file in DOCUMENTS if file.parent.name == "walkthroughs"]) >= 6
