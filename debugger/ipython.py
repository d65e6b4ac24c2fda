"""IPython's magics: `%load_ext blockstep.debugger.ipython`.

    %blockstep debug add[(4,)](x, y, out, n, BLOCK=8)    the debugger, at the launch of a statement
    %blockstep debug --program 2 add[(4,)](…)            … in program instance (2, 0, 0)
    %blockstep check add[(4,)](x, y, out, n, BLOCK=8)    what the checkers say of its launches
    %blockstep post_mortem                               the last launch that failed, as %debug

`%%blockstep check` judges a whole cell. In a kernel that stands in IPython's own debugger the commands of
`blockstep.debugger.here` work, too. IPython is loaded by whoever loads this; it is no dependency.
"""

from __future__ import annotations

import linecache
import shlex
import zlib
from typing import Any

import blockstep
from blockstep.debugger.python import Asked, opening
from blockstep.language.function import current_launcher, launching
from blockstep.options import Program, parse_program
from blockstep.runtime import held

USAGE = "%blockstep debug [--program X,Y,Z] STATEMENT | check STATEMENT | post_mortem"


class Magic:
    """`%blockstep` and `%%blockstep` of one shell. What cannot be done raises ValueError, which
    IPython shows."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def __call__(self, line: str, cell: str | None = None) -> None:
        """One use of the magic."""
        verb, _, rest = line.strip().partition(" ")
        statement = rest if cell is None else cell
        if verb == "debug":
            program, statement = _program(rest) if cell is None else (_program(rest)[0], cell)
            with launching(opening(current_launcher(), program, None, person=Asked())):
                self._run(statement)
        elif verb == "check":
            self._check(statement)
        elif verb == "post_mortem":
            self._post_mortem()
        else:
            raise ValueError(USAGE)

    def _check(self, statement: str) -> None:
        with blockstep.check() as report:
            self._run(statement)
        print(report)

    def _post_mortem(self) -> None:
        failed = held.last_failed()
        if failed is None:
            raise ValueError("no launch has failed: there is nothing to look at")
        opening(current_launcher(), None, None, failed.seed, Asked()).autopsy(failed)

    def _run(self, statement: str) -> None:
        """A statement, or a cell, in the names of the notebook."""
        if not statement.strip():
            raise ValueError(USAGE)
        text = self.shell.transform_cell(statement)
        file = f"<blockstep {zlib.crc32(text.encode()):08x}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), self.shell.user_ns)


def _program(text: str) -> tuple[Program | None, str]:
    """What `--program` says, and what follows."""
    if not text.startswith("--program"):
        return None, text
    words = shlex.split(text.partition(" ")[2].partition(" ")[0])
    rest = text.partition(" ")[2].partition(" ")[2]
    return parse_program(words[0] if words else ""), rest


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext`."""
    magic = Magic(shell)
    shell.register_magic_function(magic, "line_cell", "blockstep")


__all__ = ["Magic", "load_ipython_extension"]
