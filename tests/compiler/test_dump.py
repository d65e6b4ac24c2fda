"""`blockstep dump`: what the compiler makes of a kernel, with the types of its launch."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from blockstep import target
from blockstep.commandline import main
from blockstep.compiler.layouts import draw_shared, row_major, swizzle_128b
from blockstep.ir import Layout, SharedLayout, parse, verify
from blockstep.language.function import register_launcher
from blockstep.runtime import redirect, session
from blockstep.runtime.launch import launch

ADD = str(Path(__file__).parents[2] / "examples" / "vector_add.py")


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(target.ENVIRONMENT, "h200")  # `--target` sets it: it is put back afterwards
    with target.using(target.current()):
        yield
    register_launcher(launch)
    redirect.uninstall()
    session.set_process(None)


def dumped(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What is printed of the kernel that adds."""
    assert main(["dump", ADD, "--kernel", "add_kernel", *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [[], ["--after", "dce"], ["--after", "cse:1"], ["--after", "place"], ["--no-locations"]],
)
def test_what_is_printed_parses(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", ADD, "--kernel", "add_kernel", *options]) == 0
    text = capsys.readouterr().out
    verify(parse(text))
    assert (' @ "' in text) is (options != ["--no-locations"])


def test_a_kernel_that_is_not_launched_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "--kernel", "sub_*", ADD]) == 2
    said = capsys.readouterr().err
    assert "never launched a kernel 'sub_*'; it launched: add_kernel" in said


def test_a_wrong_pass_is_said_before_the_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", ADD, "--kernel", "add_kernel", "--after", "fuse"]) == 2
    said = capsys.readouterr().err
    assert "no pass is called 'fuse'; there are frontend, inline, " in said
    assert "cse:1, licm, cse:2, carried, dce:1, engine, place, stores, " in said


@pytest.mark.parametrize("name", ["cse:0", "cse:9", "cse:x", "frontend:1", "licm:2"])
def test_a_wrong_number_of_a_pass_is_said(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", ADD, "--kernel", "add_kernel", "--after", name]) == 2
    assert f"no pass is called '{name}'" in capsys.readouterr().err


def test_before_all_passes_the_ir_is_that_of_the_front_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert dumped(capsys, "--after", "frontend") == dumped(capsys)


def test_passes_of_one_name_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    first, last = dumped(capsys, "--after", "dce:1"), dumped(capsys, "--after", "dce")
    assert "layout<" not in first
    assert "layout<" in last


def test_each_layout_is_drawn_once_with_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    ir, text = dumped(capsys, "--after", "dce", "--no-locations"), dumped(capsys, "--layouts")
    drawn = re.findall(r"^(?:layout|shared)<.*>$", text, re.M)
    assert sorted(drawn) == sorted(set(re.findall(r"(?:layout|shared)<[^>]*>", ir)))
    for head, layout in re.findall(r"^(%.*):\n(.*)$", text, re.M):
        name = head.split(",")[0].split(" ")[0]
        assert re.search(rf"{re.escape(name)} = .* {re.escape(layout)}", ir)
    assert all(Layout.parse(line) for line in drawn)


def test_nothing_is_drawn_before_there_are_layouts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", ADD, "--kernel", "add_kernel", "--after", "licm", "--layouts"]) == 2
    assert "after licm nothing has a layout yet: `place` gives them" in capsys.readouterr().err


def test_stages_come_in_the_order_of_the_compiler(capsys: pytest.CaptureFixture[str]) -> None:
    text = dumped(capsys, "--resources", "--ptx", "--llvm", "--after", "place", "--layouts")
    marks = ["func @add_kernel", "\nlayout<", "define ptx_kernel", ".visible .entry", "registers"]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


@pytest.mark.parametrize(("name", "arch"), [("h200", "sm_90a"), ("a100", "sm_80")])
def test_the_ptx_is_for_the_target(
    name: str, arch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"\n.target {arch}" in dumped(capsys, "--ptx", "--target", name)


def test_resources_are_what_the_assembler_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = dumped(capsys, "--resources", "--target", "h100")
    assert text.startswith("add_kernel on NVIDIA H100: 4 warps\n")
    assert re.search(r"^  registers +\d+ a thread, no spills$", text, re.M)
    assert re.search(r"^  occupancy +\d+ CTAs and 64 of 64 warps", text, re.M)


def test_a_target_without_a_compiler_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dump", "--target", "mi300x", ADD, "--kernel", "add_kernel", "--ptx"]
    assert main(words) == 2
    assert "there is no compiler for AMD Instinct MI300X" in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_error() -> None:
    words = [sys.executable, "-m", "blockstep", "dump", ADD, "--kernel", "add_kernel", "--ptx"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    "shared",
    [
        swizzle_128b((16, 64), (1, 0), 2),
        swizzle_128b((64, 16), (0, 1), 2),
        row_major((8, 4), (1, 0)),
        swizzle_128b((8, 16), (1, 0), 4, 64),
    ],
    ids=str,
)
def test_a_drawing_of_shared_memory_has_the_addresses(shared: SharedLayout) -> None:
    title, _, *lines = draw_shared(shared).splitlines()
    assert title == str(shared)
    turned = lines[0].startswith("transposed")
    head, *rows = [line for line in lines[turned:] if not line.startswith("left out")]
    for row in rows:
        number, *cells = row.split()
        for column, cell in zip(head.split(), cells, strict=True):
            first, _, last = cell.partition("-")
            for step in range(int(last or first) - int(first) + 1):
                at = int(number), int(column) + step
                i, j = reversed(at) if turned else at
                assert shared.address(i * shared.shape[1] + j) == int(first) + step


def test_the_kernel_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", ADD]) == 2
    assert "--kernel NAME" in capsys.readouterr().err
