"""Bounds on the error of outputs, as a person writes them: `error:4ulp`, `relative:1e-3`, `overflow`."""

from __future__ import annotations

from dataclasses import dataclass

NAN = "nan"  # what `--precision` alone means


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """`quantity` is "error" (units in the last place of the output's type), "relative" (of the shadow)
    or "overflow" (an infinity where float64 has a number)."""

    quantity: str
    limit: float
    text: str


def parse(text: str) -> tuple[bool, tuple[ErrorBound, ...]]:
    """Whether NaN is followed, and the bounds, of a list separated by commas. Raises ValueError."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return NAN in parts, tuple(_bound(part) for part in parts if part != NAN)


def is_bounds(text: str) -> bool:
    """Whether a word can only be meant as such a list."""
    first = text.split(",")[0].partition(":")[0].strip()
    return first in ("error", "relative") and ":" in text or first in ("overflow", NAN)


def _bound(text: str) -> ErrorBound:
    quantity, colon, number = text.partition(":")
    if text == "overflow":
        return ErrorBound("overflow", 0.0, text)
    for ending in ("ulps", "ulp"):
        if quantity == "error" and number.endswith(ending):
            number = number.removesuffix(ending).strip()
            break
    else:
        if quantity == "error":
            colon = ""
    try:
        limit = float(number) if colon and quantity in ("error", "relative") else -1.0
    except ValueError:
        limit = -1.0
    if not 0 <= limit < float("inf"):
        raise ValueError(
            f"a bound on precision is error:4ulp, relative:1e-3, overflow or nan, not {text!r}"
        )
    return ErrorBound(quantity, limit, text)


__all__ = ["NAN", "ErrorBound", "is_bounds", "parse"]
