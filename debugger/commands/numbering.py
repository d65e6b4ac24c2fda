"""Numbers for breakpoints, watches and displays, counted on and never used twice."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Numbering:
    """One counter for each kind of thing."""

    last: dict[str, int] = field(default_factory=dict)

    def next(self, kind: str) -> int:
        """The next number of a kind, from 1."""
        self.last[kind] = self.last.get(kind, 0) + 1
        return self.last[kind]


__all__ = ["Numbering"]
