"""`blockstep dump`: the IR of a kernel with the types of its launch."""

from pathlib import Path

import pytest

from blockstep.commandline import main
from blockstep.ir import parse, verify
from blockstep.language.function import register_launcher
from blockstep.runtime import redirect, session
from blockstep.runtime.launch import launch

ADD = str(Path(__file__).parents[2] / "examples" / "vector_add.py")


@pytest.fixture(autouse=True)
def as_before():
    yield
    register_launcher(launch)
    redirect.uninstall()
    session.set_process(None)


@pytest.mark.parametrize("options", [[], ["--after", "dce"], ["--no-locations"]])
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
    assert "no pass is called 'fuse'" in capsys.readouterr().err


def test_the_kernel_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", ADD]) == 2
    assert "--kernel NAME" in capsys.readouterr().err
