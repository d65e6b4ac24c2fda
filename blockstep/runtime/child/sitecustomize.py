"""Python imports this file at start-up in the child processes of a judged run (it is put on their
PYTHONPATH): it opens the same session there, then lets the next `sitecustomize` have its turn."""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != _here]
_this = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401  (the environment's own one, if it has any)
except ImportError:
    sys.modules["sitecustomize"] = _this  # the import that runs this file looks for it
if os.environ.get("BLOCKSTEP_CHILD"):
    from blockstep.runtime import children

    children.start()
