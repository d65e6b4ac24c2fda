"""`Command`: what the command line knows of one of its commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Command:
    """`configure` adds the command's arguments to its parser; `run` does it and gives the exit
    status. With `script`, the words after a script are the script's own, but for the options
    `late`, which may stand right behind it."""

    name: str
    text: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Any], int]
    late: tuple[str, ...] = ()
    script: bool = True
