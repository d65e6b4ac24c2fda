"""docs/screen.md has the keys that there are."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from prompt_toolkit.application import create_app_session

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.screen.screen import Screen
from blockstep.debugger.session import Session
from blockstep.debugger.views.palette import Palette
from blockstep.runtime.ladder.launch import take
from tests.debugger import kernels
from tests.debugger.screen.driving import Terminal

DOCUMENT = Path(__file__).parents[3] / "docs/screen.md"


def table_of(screen: Screen) -> str:
    rows = ["| key | |", "| --- | --- |"]
    for title, pairs in screen.help_sections():
        rows.append(f"| **{title}** | |")
        rows += [f"| `{key}` | {does} |" for key, does in pairs]
    return "\n".join(rows)


def test_the_document_has_the_keys_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = Session(take(kernels.total, (np.zeros(1, np.float32),), {}, (1,)))
    with create_app_session(output=Terminal(80, 24)):
        wanted = table_of(Screen(Commands(session), Palette(), output=Terminal(80, 24)))
    session.close()
    found = re.search(r"<!-- keys -->\n(.*?)\n?<!-- /keys -->", DOCUMENT.read_text(), re.S)
    assert found is not None and found[1] == wanted


def test_the_pictures_of_the_document_are_there() -> None:
    names = re.findall(r"\]\((screens/[^)]+)\)", DOCUMENT.read_text())
    assert len(names) >= 6
    assert all((DOCUMENT.parent / name).is_file() for name in names)
