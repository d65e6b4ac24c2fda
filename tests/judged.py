"""Runs one program as `blockstep check` does, in this process, and keeps what it found.

Invariant: the process is left as it was: no redirect, no session, no patched factory and no
variable of the environment stays behind.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from blockstep import commandline, diagnostics, target
from blockstep.findings import Finding, Report
from blockstep.runtime import redirect, session

_FLAGS = re.compile(r"^#~ FLAGS: (.*)$", re.M)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a program ended."""

    status: int
    report: Report
    said: str  # what went to the terminal

    @property
    def findings(self) -> list[Finding]:
        """The findings, worst first as the report has them."""
        return list(self.report.findings)

    @property
    def text(self) -> str:
        """The diagnostics and the summary line, without what the script itself said."""
        shown = diagnostics.render_all(self.report.findings)
        return f"{shown}\n{diagnostics.summary(self.report)}\n".lstrip("\n")


def flags_of(program: Path) -> list[str]:
    """Options that a program asks for: a line `#~ FLAGS: --seeds 8`."""
    found = _FLAGS.search(program.read_text())
    return found[1].split() if found else []


def check(program: Path, flags: Sequence[str] = ()) -> Verdict:
    """Judges a program."""
    before, environment = redirect.installed(), dict(os.environ)
    said = io.StringIO()
    try:
        with target.using(target.current()), redirect_stderr(said), redirect_stdout(said):
            status = commandline.main(["check", *flags, str(program)])
        return Verdict(status, session.current().report, said.getvalue())
    finally:
        session.set_process(None)
        os.environ.clear()
        os.environ.update(environment)
        if not before:
            redirect.uninstall()
