"""The table of commands in the documents is that of the docstrings; `--bless` writes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.table import SHORT

DOCUMENT = Path(__file__).parents[2] / "docs" / "debugging.md"
BEGIN, END = "<!-- commands -->\n", "<!-- end -->\n"


def table() -> str:
    """A row for each command, under the headings of the families."""
    known = Commands.table
    lines = ["| command | |", "| --- | --- |"]
    for title, names in known.by_family().items():
        lines.append(f"| **{title}** | |")
        for name in names:
            usage = known.usage(name).replace("|", "\\|")
            short = [s for s, n in SHORT.items() if n == name and f"{s}(" not in usage]
            also = f" Also {', '.join(f'`{s}`' for s in sorted(short))}." if short else ""
            lines.append(f"| `{usage}` | {known.summary(name)}.{also} |")
    return "\n".join(lines) + "\n"


def test_the_document_has_every_command(request: pytest.FixtureRequest) -> None:
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}{table()}{END}{after}"
    if request.config.getoption("--bless"):
        DOCUMENT.write_text(wanted)
    assert DOCUMENT.read_text() == wanted


def test_every_short_name_stands_for_a_command() -> None:
    assert set(SHORT.values()) <= set(Commands.table.methods)
    assert not set(SHORT) & set(Commands.table.methods)
