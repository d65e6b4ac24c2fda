"""docs/sessions.md: its program runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import blockstep

DOCUMENT = Path(blockstep.__file__).resolve().parent.parent / "docs" / "sessions.md"


def test_the_program_in_the_document_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = DOCUMENT.read_text().split("```python\n")[1].split("```")[0]
    (tmp_path / "documented_session.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    __import__("documented_session")
