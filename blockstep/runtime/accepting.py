"""What a compiler's front end rejects is rejected on every machine, before anything runs."""

from __future__ import annotations

from typing import Any

from blockstep import diagnostics
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.frontend.cache import key_of
from blockstep.compiler.frontend.kernel import NEEDS_STEP, NotPassed
from blockstep.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    TritonError,
    UnsupportedError,
    UnsupportedLanguageConstruct,
)
from blockstep.findings import CompileFault, Event, Span, UnsupportedUse
from blockstep.language.function import JITFunction
from blockstep.runtime import session
from blockstep.runtime.arguments import Bound


def body_of(
    function: JITFunction,
    bound: Bound,
    options: dict[str, Any],
    current: session.Session,
    host: Span | None,
) -> Any:
    """The function to run. Raises CompilationError for what the language certainly rejects."""
    constants = {a.name: a.value for a in bound.arguments if a.kind == "constexpr"}
    runtime = frozenset(a.name for a in bound.arguments if a.kind in ("scalar", "pointer"))
    try:
        function.prepared.check(constants, runtime)
        _front_end(function, bound, options["num_warps"])
        return function.body
    except TritonError as error:
        file_fault(error, function, current, host)
        raise


def file_fault(
    error: TritonError, function: JITFunction, current: session.Session, host: Span | None
) -> None:
    """The finding stands at the innermost expression, with the calls that led there."""
    callers: list[Span] = []
    inner: BaseException = error
    while isinstance(cause := inner.__cause__, CompilationError) and cause.span is not None:
        if isinstance(inner, CompilationError) and inner.span is not None:
            callers.insert(0, inner.span)
        inner = cause
    span = getattr(inner, "span", None)
    if current.options.judged and span is not None:
        text = str(getattr(inner, "error_message", "") or inner)
        told: dict[str, Any] = {
            "span": span, "kernel": function.__name__, "host": host, "callers": tuple(callers),
        }  # fmt: skip
        limit = isinstance(inner, UnsupportedError) or NEEDS_STEP in text
        event: Event = (
            UnsupportedUse(**told, what=text) if limit else CompileFault(**told, message=text)
        )
        diagnostics.record(current.report, event)


def _front_end(function: JITFunction, bound: Bound, num_warps: int) -> None:
    """What a compiler's front end alone can see (branches or loops that change a variable's type, a
    name that one path leaves unbound) is rejected on every machine, before anything runs. What a
    function of the language refuses, it refuses when it is reached, with the user's line."""
    excused = function.device_caches.setdefault("excused", set())
    key = (key_of(bound.arguments), function.prepared.names.identities(), num_warps)
    if key in excused:
        return
    try:
        build_bound(function, bound.arguments, num_warps)
    except (CompilationError, UnsupportedError) as error:
        if not _is_structural(error):
            excused.add(key)
            return
        raise


def compile_all(function: JITFunction, bound: Bound, num_warps: int) -> None:
    """Everything that a compiler rejects, on paths that never run as well."""
    try:
        build_bound(function, bound.arguments, num_warps)
    except CompilationError as error:
        inner: BaseException = error  # of a function that the kernel calls
        while isinstance(inner.__cause__, CompilationError):
            inner = inner.__cause__
        if not isinstance(inner, UnsupportedLanguageConstruct) or NEEDS_STEP not in str(inner):
            raise


def _is_structural(error: BaseException) -> bool:
    """Whether the front end itself rejects the kernel, not a function of the language in it."""
    while isinstance(error.__cause__, CompilationError):
        error = error.__cause__
    if error.__cause__ is not None or not isinstance(error, CompilationError):
        return False
    if isinstance(error, (CompileTimeAssertionFailure, NotPassed)):
        return False
    return not (isinstance(error, UnsupportedLanguageConstruct) and NEEDS_STEP in str(error))
