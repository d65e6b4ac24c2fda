"""Replay files: a launch in one small file, which `blockstep debug FILE` opens on any machine."""

from blockstep.debugger.replay.file import NoReplay, is_replay
from blockstep.debugger.replay.reading import Replay, read
from blockstep.debugger.replay.writing import Recipe, save

__all__ = ["NoReplay", "Recipe", "Replay", "is_replay", "read", "save"]
