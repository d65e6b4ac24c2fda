"""A long launch tells a terminal how far it is, and leaves no trace of that afterwards."""

import io
import sys
from types import SimpleNamespace

import pytest

from blockstep.runtime import progress


class Screen(io.StringIO):
    """A stderr that may be a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def shown(monkeypatch: pytest.MonkeyPatch, terminal: bool, seconds: float) -> str:
    """What appears while one of four program instances ends `seconds` after the launch."""
    screen = Screen(terminal)
    clock = iter([100.0, 100.0 + seconds])
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    scheduler = SimpleNamespace(finished=0, total=4)
    told = progress.Progress(SimpleNamespace(scheduler=scheduler, kernel="add"))  # type: ignore[arg-type]
    told.step()
    told.close()
    return screen.getvalue()


def test_a_long_launch_shows_its_share_and_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, terminal=True, seconds=1.5)
    assert text == "\radd: 1 of 4 program instances (25 %)\r\x1b[K"


def test_a_short_launch_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, terminal=True, seconds=0.5) == ""


def test_a_file_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, terminal=False, seconds=9.0) == ""
