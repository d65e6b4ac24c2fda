"""The compiler: front end, passes, lowering (not part of this release)."""

if __name__ == "compiler":
    raise ImportError("import blockstep.compiler: a second import path makes a second copy")
