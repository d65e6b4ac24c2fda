"""Running a user's script or module as `__main__`, as `python` would."""

from __future__ import annotations

import bdb
import os
import runpy
import sys
from collections.abc import Sequence

from blockstep.interp import breakpoints


def run(target: str, args: Sequence[str], *, module: bool = False) -> int:
    """Runs a script (or, with `module`, what `python -m` would run); its exit status.

    The traceback of an exception is printed without frames of ours."""
    before = sys.argv, list(sys.path)
    tracer = sys.gettrace()
    sys.argv = [target, *args]
    try:
        if module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(target)))
            runpy.run_path(target, run_name="__main__")
        return 0
    except SystemExit as stop:
        return _status(stop)
    except bdb.BdbQuit:  # a person has seen enough
        if tracer is not None:  # the debugger that runs us ends it
            raise
        return 0
    except BaseException as error:  # noqa: BLE001 (printed, as the interpreter would at top level)
        _print(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        sys.argv, sys.path[:] = before
        if sys.gettrace() is not tracer:  # a debugger's: its next stop would be in our own exit
            sys.settrace(tracer)


def _status(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def _print(error: BaseException) -> None:
    trace = breakpoints.strip_frames(error.__traceback__)
    while (
        trace is not None
        and trace.tb_next
        and trace.tb_frame.f_code.co_filename.startswith("<frozen runpy")
    ):
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)
