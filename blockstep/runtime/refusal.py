"""`ArgumentError`: an argument of a launch that cannot be taken, with what would do and the fix.

Invariant: every text names the kernel's parameter, and ends in something the caller can do.
"""

from __future__ import annotations


class ArgumentError(TypeError):
    """An argument of a launch was refused."""

    def __init__(self, name: str, passed: str, *, accepted: str = "", fix: str = "") -> None:
        super().__init__(name, passed)
        self.argument, self.passed, self.accepted, self.fix = name, passed, accepted, fix
        self.kernel = ""

    def __str__(self) -> str:
        where = f" of {self.kernel}" if self.kernel else ""
        text = f"argument `{self.argument}`{where} is {self.passed}"
        if self.accepted:
            text += f"; accepted: {self.accepted}"
        return f"{text}\nhelp: {self.fix}" if self.fix else text

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (
            type(self),
            self.argument,
            self.passed,
            self.accepted,
            self.fix,
            self.kernel,
        )


class ArgumentOverflow(ArgumentError, OverflowError):
    """An integer argument does not fit its type."""


class CallError(ArgumentError):
    """The call itself is wrong: an argument is missing, or one too many was given."""

    def __str__(self) -> str:
        where = f"{self.kernel}: " if self.kernel else ""
        return f"{where}{self.passed}" + (f"\nhelp: {self.fix}" if self.fix else "")


class UnknownKeyword(CallError, KeyError):
    """A keyword that is neither a parameter of the kernel nor a launch option."""


def _again(
    kind: type[ArgumentError], name: str, passed: str, accepted: str, fix: str, kernel: str
) -> ArgumentError:
    made = kind(name, passed, accepted=accepted, fix=fix)
    made.kernel = kernel
    return made
