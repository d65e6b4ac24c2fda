"""Kernels under debugpy, as VS Code and PyCharm run it: stops, steps and what a block looks like."""

from pathlib import Path

import pytest

pytest.importorskip("debugpy", reason="debugpy is not installed")

from tests.editors.dap import debugging

SCRIPT = """\
import numpy as np
import triton
import triton.language as tl

@triton.jit
def twice(v):
    doubled = v * 2
    return doubled

@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offs < n
    x = tl.load(x_ptr + offs, mask=inside)
    y = twice(x)
    tl.store(out_ptr + offs, y, mask=inside)

x = np.arange(6, dtype=np.float32)
out = np.zeros_like(x)
scale[(2,)](x, out, 6, BLOCK=4)
print(out)
"""
HOST = 20  # the line of the launch


def _lines(text: str, *parts: str) -> list[int]:
    lines = text.splitlines()
    return [1 + next(k for k, line in enumerate(lines) if part in line) for part in parts]


Y, STORE, LOAD = _lines(SCRIPT, "y = twice", "tl.store", "x = tl.load")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "scale.py"
    file.write_text(SCRIPT)
    return file


def run(script: Path, *lines: int):
    words = ["-m", "blockstep", "run", "scale.py"]
    return debugging(script.parent, words, {script: list(lines)})


def test_a_breakpoint_in_a_kernel_is_hit_in_each_instance(script: Path) -> None:
    with run(script, Y) as client:
        assert client.stop() == [("scale.py", Y, "scale"), ("scale.py", HOST, "<module>")]
        assert "[0., 1., 2., 3.]" in client.locals()["x"]["value"]
        assert client.go("continue")[0] == ("scale.py", Y, "scale")
        assert "2 of 4 undefined: elements 2..3" in client.locals()["x"]["value"]


def test_a_block_unfolds_into_type_values_and_what_is_undefined(script: Path) -> None:
    with run(script, Y) as client:
        client.stop()
        client.go("continue")
        below = client.children(client.locals()["x"]["variablesReference"])
        assert list(below)[:4] == ["type", "shape", "dtype", "values"]
        assert below["shape"]["value"] == "(4,)"
        assert below["dtype"]["value"] == "'float32'"
        assert below["max"]["value"].startswith("np.float32(5.0") or below["max"]["value"] == "5.0"
        assert below["undefined count"]["value"] == "2"
        pointer = client.children(client.locals()["x_ptr"]["variablesReference"])
        assert pointer["argument"]["value"] == "'x_ptr'"


def test_stepping_stays_in_the_users_files(script: Path) -> None:
    with run(script, LOAD) as client:
        client.stop()
        assert client.go("next")[0] == ("scale.py", Y, "scale")
        assert client.go("stepIn")[0][2] == "twice"
        assert client.go("stepOut")[0][:2] in {("scale.py", Y), ("scale.py", STORE)}
        places = [client.go("stepIn")[0] for _ in range(3)]
        assert {name for name, _, _ in places} == {"scale.py"}


def test_a_script_that_imports_blockstep_itself_stops_too(script: Path) -> None:
    own = SCRIPT.replace("import triton.language as tl", "import blockstep.language as tl")
    script.write_text(own.replace("import triton\n", "import blockstep as triton\n"))
    with debugging(script.parent, ["scale.py"], {script: [Y]}) as client:
        assert client.stop()[0] == ("scale.py", Y, "scale")
        assert "[0., 1., 2., 3.]" in client.locals()["x"]["value"]
