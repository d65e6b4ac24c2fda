"""`python -m blockstep`, and the command `blockstep`."""

import sys

from blockstep.commandline import main

if __name__ == "__main__":
    sys.exit(main())
