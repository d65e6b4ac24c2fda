"""Debuggers inside a kernel: only the user's frames are ever shown or stopped in.

Invariant: what a person does in pdb looks as if the kernel had been called by the host line that
launched it. `install` teaches `bdb.Bdb`, which every pdb is built on, to pass over *hidden* frames:
those of our own files, and those of the libraries that our files call (a NumPy function below
`tl.load`). A frame in a hidden file still stops at a breakpoint that was set in that very file.

What stepping means where our frames lie between: `s` at the end of a program instance goes on to
the next one; `n`, `until` and `return` there go to the host line after the launch. An instance that
began while another one waited has a stack of its own; the host's frames are appended to it.
`jump` is refused in a kernel: its code is a transformed copy, where a skipped line may be a part
of a loop's head.

Not here: debuggers that do not use bdb (debugpy has `justMyCode`, and shows values as `editors`
says), and reading of tracebacks by
other tools; `strip_frames` gives these the user's frames. Source: CPython's Lib/bdb.py, Lib/pdb.py.
"""

import bdb
import functools
import os
import sys
import traceback
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

from blockstep.interp import editors
from blockstep.language import frames

_LIBRARIES = sys.stdlib_module_names | {"numpy", "ml_dtypes", "torch", "greenlet"}

pdb_commands: dict[str, Callable[[str, FrameType], str]] = {}
"""What pdb can do besides, at a kernel's frame: by name, from the rest of the line to what is said. One
raises RuntimeError with the reason where it cannot be done. Whoever has a debugger puts them here."""

_files: set[str] = set()
_kernels: dict[int, CodeType] = {}


def hide(filename: str) -> None:
    """Count a file that is not in the package as ours."""
    _files.add(filename)


def is_ours(filename: str) -> bool:
    """Whether the code of `filename` belongs to blockstep."""
    return filename in _files or frames.is_ours(filename)


def register(code: CodeType) -> None:
    """Remember that `code` is the body of a kernel or a device function."""
    _kernels[id(code)] = code


def is_kernel(code: CodeType) -> bool:
    return id(code) in _kernels or frames.is_kernel(code)


def is_hidden(frame: FrameType) -> bool:
    """Whether `frame` is ours, or a library's that works for us."""
    inner: FrameType | None = frame
    while inner is not None:
        if is_ours(inner.f_code.co_filename):
            return True
        if is_kernel(inner.f_code) or not _is_library(inner):
            return False
        inner = inner.f_back
    return False


def _is_library(frame: FrameType) -> bool:
    """Whether the frame may belong to whoever called it: a library's, or generated methods'."""
    name = frame.f_globals.get("__name__")
    if not isinstance(name, str):
        return False
    generated = frame.f_code.co_filename == "<string>" and name != "__main__"
    return generated or name.partition(".")[0] in _LIBRARIES


def caller_of(frame: FrameType) -> FrameType | None:
    """The frame that called `frame`, also where a greenlet of the scheduler begins."""
    if frame.f_back is not None:
        return frame.f_back
    code = frame.f_code
    if code.co_name == "_continue" and is_ours(code.co_filename):
        host = frame.f_locals.get("host")
        return host if isinstance(host, FrameType) else None
    return None


def user_caller(frame: FrameType) -> FrameType | None:
    """The nearest frame outside `frame` that a user sees."""
    caller = caller_of(frame)
    while caller is not None and is_hidden(caller):
        caller = caller_of(caller)
    return caller


def _hidden_in(calls: list[FrameType]) -> list[bool]:
    """`is_hidden` for each of a chain of calls, which may be over: such frames have no caller."""
    hidden: list[bool] = []
    above = False
    for frame in calls:
        code = frame.f_code
        works_for_us = above and not is_kernel(code) and _is_library(frame)
        above = works_for_us or is_ours(code.co_filename)
        hidden.append(above)
    return hidden


# Tracebacks.


def strip_frames(trace: TracebackType | None) -> TracebackType | None:
    """The same traceback without hidden frames; unchanged if nothing else would be left.

    `BLOCKSTEP_TRACEBACK=full` keeps them all, for a report about blockstep itself.
    """
    entries = []
    entry = trace
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    hidden = _hidden_in([entry.tb_frame for entry in entries])
    kept = [entry for entry, ours in zip(entries, hidden, strict=True) if not ours]
    if len(kept) == len(entries) or os.environ.get("BLOCKSTEP_TRACEBACK") == "full":
        return trace
    stripped: TracebackType | None = None
    for entry in reversed(kept):
        stripped = TracebackType(stripped, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return stripped or trace


def leave_kernel(
    error: BaseException, kernel: str, program: tuple[int, ...], grid: tuple[int, ...]
) -> None:
    """Prepare an exception that leaves a launch: our frames go, who raised it is noted, once."""
    error.__traceback__ = strip_frames(error.__traceback__)
    note = f"in kernel {kernel}, program instance {program} of grid {grid}"
    if not isinstance(error, bdb.BdbQuit) and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _excepthook(
    original: Callable[..., Any],
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """The traceback of an uncaught exception, also of those that it came from."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        cause.__traceback__ = strip_frames(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__
    original(kind, error, strip_frames(trace))


def _traceback(
    original: Callable[..., Any],
    summary: traceback.TracebackException,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
    **how: Any,
) -> None:
    """What `traceback.print_exc`, logging and pdb print; called for each cause by itself."""
    original(summary, kind, error, strip_frames(trace), **how)


# The debugger.


def install() -> None:
    """Make every bdb debugger, and whatever prints a traceback, pass over our frames. Once; but an
    editor's debugger may come at any time, and is told how to show blocks."""
    editors.attach()
    if getattr(bdb.Bdb.stop_here, "passes_over_hidden_frames", False):
        return
    for name, wrap in _WRAPPERS.items():
        setattr(bdb.Bdb, name, _wrapped(bdb.Bdb.__dict__[name], wrap))
    bdb.Bdb.stop_here.passes_over_hidden_frames = True  # type: ignore[attr-defined]
    _install_pdb()
    sys.excepthook = _wrapped(sys.excepthook, _excepthook)
    shown = traceback.TracebackException
    shown.__init__ = _wrapped(shown.__init__, _traceback)  # type: ignore[method-assign]


def stop_at_first_line(code: CodeType) -> None:
    """Have the debugger in force, or else a new pdb, stop where `code` begins to run next."""
    before = sys.gettrace()
    debugger = getattr(before, "__self__", None)
    if not isinstance(debugger, bdb.Bdb):
        import pdb  # not needed otherwise, and not small

        debugger = pdb.Pdb()

    def start(frame: FrameType, event: Any, arg: object) -> Any:
        if frame.f_code is code:
            debugger.set_trace(frame)
            return debugger.trace_dispatch
        return before(frame, event, arg) if before is not None else None

    sys.settrace(start)


def _install_pdb() -> None:
    """Refuse `jump`, and give pdb the commands of `pdb_commands`, as soon as pdb is there."""
    pdb = sys.modules.get("pdb")
    if pdb is not None and not hasattr(pdb.Pdb.do_jump, "__wrapped__"):
        pdb.Pdb.do_jump = pdb.Pdb.do_j = _wrapped(pdb.Pdb.do_jump, _do_jump)
        for name, command in pdb_commands.items():
            setattr(pdb.Pdb, f"do_{name}", _command(name, command))


def _command(name: str, command: Callable[[str, FrameType], str]) -> Callable[[Any, str], Any]:
    """A command of pdb in kernels. Elsewhere, and where a local has its name, pdb takes the line as
    it would without us: as a statement."""

    def do(debugger: Any, arg: str) -> Any:
        frame = debugger.curframe
        if not is_kernel(frame.f_code) or name in frame.f_locals:
            return debugger.default(f"{name} {arg}".rstrip())
        try:
            debugger.message(command(arg, frame))
        except RuntimeError as refused:
            debugger.error(str(refused))

    do.__doc__ = f"{name}: as in `blockstep debug`, inside a kernel."
    return do


def _wrapped(original: Callable[..., Any], wrap: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        return wrap(original, *args, **kwargs)

    return method


def _do_jump(original: Callable[..., Any], debugger: Any, arg: str) -> Any:
    if is_kernel(debugger.curframe.f_code):
        return debugger.error(
            "jump is not possible inside a kernel: it runs as a transformed copy of its source"
        )
    return original(debugger, arg)


def _reset(original: Callable[..., Any], debugger: bdb.Bdb) -> None:
    _install_pdb()
    original(debugger)


def _stop_here(original: Callable[..., Any], debugger: bdb.Bdb, frame: FrameType) -> Any:
    return original(debugger, frame) and (_begins(debugger) or not is_hidden(frame))


def _begins(debugger: bdb.Bdb) -> bool:
    """`python -m pdb -m blockstep`: pdb waits for the main file, which is ours, after a restart."""
    return bool(getattr(debugger, "_wait_for_mainpyfile", False))


def _dispatch_call(
    original: Callable[..., Any], debugger: bdb.Bdb, frame: FrameType, arg: object
) -> Any:
    """A hidden frame is not even traced, so that the machine stays fast under a debugger."""
    hidden = debugger.botframe is not None and not _begins(debugger) and is_hidden(frame)
    if hidden and not debugger.break_anywhere(frame):
        return None
    if is_kernel(frame.f_code):
        _move_named(debugger, frame.f_code)
    return original(debugger, frame, arg)


def _move_named(debugger: Any, code: CodeType) -> None:
    """Move a breakpoint that was set by name from the `def` to where the code begins.

    Before the function exists pdb finds its `def` in the file, but code begins at the first
    decorator, and every kernel has one.
    """
    file, first = debugger.canonic(code.co_filename), code.co_firstlineno
    body = min((at for _, _, at in code.co_lines() if at and at > first), default=first)
    for line in [at for at in debugger.breaks.get(file, ()) if first < at < body]:
        points = bdb.Breakpoint.bplist[file, line]
        named = [point for point in points if point.funcname == code.co_name]
        for point in named:
            points.remove(point)
            point.line = first
            bdb.Breakpoint.bplist.setdefault((file, first), []).append(point)
            debugger._add_to_breaks(file, first)
        if not points:
            del bdb.Breakpoint.bplist[file, line]
            debugger.breaks[file].remove(line)


def _set_trace(
    original: Callable[..., Any], debugger: bdb.Bdb, frame: FrameType | None = None, *rest: Any
) -> None:
    """Start at the user's frame, and be ready to stop in the host's frames as well."""
    frame = frame or sys._getframe(2)
    original(debugger, frame, *rest)
    while frame is not None:
        if not is_hidden(frame):
            frame.f_trace = debugger.trace_dispatch
        elif frame.f_trace is not None:
            frame.f_trace = None
        debugger.botframe = frame
        frame = caller_of(frame)


def _resume_caller(debugger: bdb.Bdb, frame: FrameType) -> FrameType | None:
    """The user's frame that `frame` returns to, made ready to be stopped in."""
    caller = user_caller(frame)
    if caller is not None and caller.f_trace is None:
        caller.f_trace = debugger.trace_dispatch
    return caller


def _set_step(original: Callable[..., Any], debugger: bdb.Bdb) -> None:
    returning = debugger.frame_returning
    if returning is not None:
        _resume_caller(debugger, returning)
    original(debugger)


def _set_next(original: Callable[..., Any], debugger: Any, frame: FrameType) -> None:
    """At the end of a kernel `next` goes where a person sees it return to: the host."""
    if debugger.frame_returning is frame and _called_by_us(frame):
        debugger._set_stopinfo(_resume_caller(debugger, frame), None)
    else:
        original(debugger, frame)


def _set_until(
    original: Callable[..., Any], debugger: Any, frame: FrameType, lineno: int | None = None
) -> None:
    if debugger.frame_returning is frame and _called_by_us(frame):
        debugger._set_stopinfo(_resume_caller(debugger, frame), None)
    else:
        original(debugger, frame, lineno)


def _set_return(original: Callable[..., Any], debugger: Any, frame: FrameType) -> None:
    original(debugger, frame)
    if debugger.stopframe is frame.f_back and _called_by_us(frame):
        debugger._set_stopinfo(_resume_caller(debugger, frame), frame)


def _called_by_us(frame: FrameType) -> bool:
    caller = caller_of(frame)
    return caller is not None and is_hidden(caller)


Stack = list[tuple[FrameType, int]]


def _get_stack(
    original: Callable[..., tuple[Stack, int]],
    debugger: bdb.Bdb,
    frame: FrameType | None,
    trace: TracebackType | None,
) -> tuple[Stack, int]:
    """What `where` shows. The frame where the debugger stands is always among it."""
    stack, index = original(debugger, frame, trace)
    host = _host_frames(stack, debugger) if frame is not None else []
    if host:
        index = next(i for i, (inner, _) in enumerate(stack) if inner is frame)
    stack, index = host + stack, len(host) + index
    hidden = _hidden_in([inner for inner, _ in stack])
    shown = [i for i, (inner, _) in enumerate(stack) if inner is frame or not hidden[i]]
    if not shown:
        return stack, index
    return [stack[i] for i in shown], max(sum(i <= index for i in shown) - 1, 0)


def _host_frames(stack: Stack, debugger: bdb.Bdb) -> Stack:
    """The host's side of a stack that begins in a greenlet of the scheduler."""
    outer: Stack = []
    frame = stack[0][0] if stack else None
    if frame is None or frame is debugger.botframe or frame.f_back is not None:
        return outer
    frame = caller_of(frame)
    while frame is not None:
        outer.append((frame, frame.f_lineno))
        if frame is debugger.botframe:
            break
        frame = caller_of(frame)
    return outer[::-1]


_WRAPPERS: dict[str, Callable[..., Any]] = {
    "reset": _reset,
    "stop_here": _stop_here,
    "dispatch_call": _dispatch_call,
    "set_trace": _set_trace,
    "set_step": _set_step,
    "set_next": _set_next,
    "set_until": _set_until,
    "set_return": _set_return,
    "get_stack": _get_stack,
}
