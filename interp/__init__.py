"""The machines that execute and judge kernels; reached as `blockstep.interp`."""

if __name__ == "interp":
    raise ImportError("this folder is a part of blockstep: import blockstep.interp")
