"""What a command answers: text for a person, data for a program, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Then(Enum):
    """What happens after a command."""

    STAY = "stay"  # the prompt is shown again
    GO = "go"  # the launch is over: the script goes on
    QUIT = "quit"  # the script ends, too


@dataclass(frozen=True, slots=True)
class Reply:
    """`text` has no newline at its end; `data` is what `--batch` writes, plain JSON values."""

    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    then: Then = Then.STAY


class Refused(RuntimeError):
    """A command that cannot be done; the text says why, in one line or a few."""


__all__ = ["Refused", "Reply", "Then"]
