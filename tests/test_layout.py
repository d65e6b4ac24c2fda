"""The package table in pyproject.toml, the links in blockstep/, and the direction of imports."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINKED = ("interp", "compiler", "debugger")


def _tools() -> dict[str, object]:
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "setuptools"
    ]
    return table


def test_links_match_the_package_table() -> None:
    folders = _tools()["package-dir"]
    assert isinstance(folders, dict)
    for package, folder in folders.items():
        assert (ROOT / package.replace(".", "/")).resolve() == ROOT / folder


def test_every_subpackage_is_listed() -> None:
    found = {
        ".".join(("blockstep", *p.parent.relative_to(ROOT / "blockstep").parts))
        for p in (ROOT / "blockstep").rglob("__init__.py")
        if not set(p.relative_to(ROOT / "blockstep").parts) & set(LINKED)
    }
    for folder in LINKED:
        found |= {
            "blockstep." + ".".join(p.parent.relative_to(ROOT).parts)
            for p in (ROOT / folder).rglob("__init__.py")
        }
    assert found == set(_tools()["packages"])  # type: ignore[call-overload]


def test_the_tests_install_what_compiling_needs() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert set(extras["compile"]) <= set(extras["test"])


# A layer may import itself and what stands before it; `runtime` knows the machines, never the
# other way round. (CONTRACTS: language, ir, target, findings <- interp <- runtime <- debugger.)
LAYERS = (
    ("language", "target", "findings", "diagnostics", "errors", "options", "hooks", "knobs",
     "allow", "export", "tables", "occupancy"),
    ("ir",),
    ("interp", "compiler"),
    ("runtime", "testing", "tools", "_internal_testing", "pytest_plugin"),
    ("debugger",),
    ("page",),
    ("commands", "commandline", "__main__"),
)  # fmt: skip
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def _modules() -> list[Path]:
    package = [p for p in (ROOT / "blockstep").rglob("*.py") if not set(p.parts) & set(LINKED)]
    return package + [p for f in LINKED for p in (ROOT / f).rglob("*.py")]


def _part(path: Path) -> str:
    relative = path.relative_to(ROOT)
    first = relative.parts[0]
    return first if first != "blockstep" else Path(relative.parts[1]).stem


def _imports(tree: ast.AST) -> set[str]:
    """Parts that a module imports when it is loaded (not for type checkers, not inside functions)."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("blockstep."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "blockstep":
            found |= {a.name for a in node.names if a.name in RANK}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("blockstep.")}
    return found


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    part = _part(path)
    if part == "__init__":
        return
    for other in _imports(ast.parse(path.read_text())):
        assert RANK[other] <= RANK[part], f"{part} must not import {other}"
        assert {part, other} != {"interp", "compiler"}


def test_importing_blockstep_loads_no_machine_for_ptx_and_no_ladder() -> None:
    """They would double the time of every script's first line."""
    script = "import sys, blockstep; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    for name in (
        "interp.ptx",
        "runtime.ptx",
        "runtime.ladder",
        "runtime.foreign",
        "compiler.lower",
    ):
        assert f"blockstep.{name}" not in loaded
