"""Debugging kernels: where to stop, and (later) everything one does there."""

if __name__ == "debugger":
    raise ImportError("import blockstep.debugger: a second import path makes a second copy")
