"""Which names of Triton kernel libraries use, and which of these are missing here.

    python benchmarks/library_names.py DIR [--json FILE] [--at-least N]

Every folder in DIR is a library: an unpacked wheel or a checkout. Imports are resolved by file
(`import triton.language as tl`, `from triton.language.extra import libdevice`, …), so that a use is
counted under its full name whatever it is called there; a name that is only tried (`hasattr`, or an
import inside `try`) is no use. Printed are the names that at least N libraries use (default 2) and
that do not exist when `import triton` means blockstep, with the number of uses in each library.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = "triton"
Uses = dict[str, Counter[str]]  # full name -> library -> count


class Names(ast.NodeVisitor):
    """Full names under `triton` that one file uses."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.used: Counter[str] = Counter()
        self._tried = 0

    def visit_Try(self, node: ast.Try) -> None:
        """What an import inside `try` brings may be missing."""
        self._tried += 1
        for child in node.body:
            self.visit(child)
        self._tried -= 1
        for rest in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(rest)

    def visit_Import(self, node: ast.Import) -> None:
        """`import triton.language as tl`: a name for a module."""
        for alias in node.names:
            if alias.name.split(".")[0] == ROOT:
                whole = alias.name if alias.asname else ROOT
                self.aliases[alias.asname or ROOT] = whole
                self._use(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from triton.language import load`: a name for what is in a module."""
        module = node.module or ""
        if node.level or module.split(".")[0] != ROOT:
            return
        for alias in node.names:
            if alias.name != "*":
                self.aliases[alias.asname or alias.name] = f"{module}.{alias.name}"
                self._use(f"{module}.{alias.name}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """`tl.load`: a use of the longest dotted name."""
        name = self._resolved(node)
        if name is None:
            self.generic_visit(node)
        else:
            self._use(name)

    def _resolved(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.aliases:
            return None
        return ".".join([self.aliases[node.id], *reversed(parts)])

    def _use(self, name: str) -> None:
        if not self._tried:
            self.used[name] += 1


def names_of(source: str) -> Counter[str]:
    """Full names under `triton` in a file, with the number of uses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    names = Names()
    names.visit(tree)
    return names.used


def count(folder: Path) -> Uses:
    """Uses by name and library, for the libraries in `folder`."""
    uses: Uses = defaultdict(Counter)
    for library in sorted(entry for entry in folder.iterdir() if entry.is_dir()):
        for file in library.rglob("*.py"):
            text = file.read_text(errors="replace")
            if ROOT not in text:
                continue
            try:
                found = names_of(text)
            except SyntaxError:
                print(f"not Python: {file}", file=sys.stderr)
                continue
            for name, n in found.items():
                uses[name][library.name] += n
    return uses


def exists(name: str) -> bool:
    """Whether `triton` has it, as an attribute or as a submodule."""
    here, value = "", None
    for part in name.split("."):
        here = f"{here}.{part}".lstrip(".")
        if value is not None and hasattr(value, part):
            value = getattr(value, part)
            continue
        try:
            value = importlib.import_module(here)
        except ImportError:
            return False
    return True


def _shared(uses: Uses, at_least: int) -> Iterator[str]:
    for name in sorted(uses, key=lambda n: (-sum(uses[n].values()), n)):
        if len(uses[name]) >= at_least:
            yield name


def main() -> int:
    """Prints the missing names; their number is the exit status, up to 100."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all shared names and uses")
    parser.add_argument("--at-least", type=int, default=2, metavar="N")
    told = parser.parse_args()
    import blockstep

    blockstep.install(device_map=False)
    uses = count(told.folder)
    shared = list(_shared(uses, told.at_least))
    missing = [name for name in shared if not exists(name)]
    for name in missing:
        by = ", ".join(f"{library} {n}" for library, n in uses[name].most_common())
        print(f"{name:<60} {by}")
    print(f"{len(missing)} of {len(shared)} names used by {told.at_least} or more are missing")
    if told.json:
        told.json.write_text(json.dumps({n: dict(uses[n]) for n in shared}, indent=1) + "\n")
    return min(len(missing), 100)


if __name__ == "__main__":
    sys.exit(main())
