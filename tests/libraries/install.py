"""Installs the wheels of `wheels.txt`, without their dependencies, into the Python that runs this."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WHEELS = Path(__file__).with_name("wheels.txt")


def main() -> int:
    """pip's exit status."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(WHEELS)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
