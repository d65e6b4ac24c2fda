"""What the verifier raises."""

from __future__ import annotations

from blockstep.ir.core import Operation


class Malformed(Exception):
    """The IR breaks one of its own rules: a bug in whoever made it."""

    def __init__(self, operation: Operation | None, message: str) -> None:
        where = "" if operation is None else f"{operation.name}: "
        place = ""
        if operation is not None and operation.location is not None:
            span = operation.location.span
            place = f" (from {span.file}:{span.line})"
        super().__init__(f"{where}{message}{place}")
        self.operation = operation
