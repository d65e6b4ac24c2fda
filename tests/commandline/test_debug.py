"""`blockstep debug` from the command line: prompts from a pipe, JSON, files, faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.commandline.test_commandline import FINE, ROOT, SCALE, said

FAULTY = SCALE  # the load has no mask
RAISING = FINE.replace("x = tl.load", "tl.static_assert(BLOCK == 4)\n    x = tl.load")


def objects(text: str) -> list[dict[str, Any]]:
    """The answers of `--batch`."""
    return [json.loads(line) for line in text.splitlines()]


def test_a_session_from_a_pipe_reads_like_one_at_a_terminal(tmp_path: Path) -> None:
    words = ["debug", "scale.py", "--kernel", "scale", "--program", "2,0,0", "its", "--own"]
    ended = said(tmp_path, *words, script=FINE, typed="until 8\np offs\nc\nc\n")
    assert ended.stdout.splitlines() == [
        "scale.py:6 in scale, program instance (2, 0, 0) of grid (3, 1, 1)",
        "   6 ->     offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "(blockstep) until 8",
        "   8 ->     tl.store(out_ptr + offs, x * 2, mask=offs < n)",
        "(blockstep) p offs",
        "<int32[8] [16, 17, 18, 19, 20, 21, 22, 23]>",
        "(blockstep) c",
        "the launch is over: 3 program instances ran",
        "(blockstep) c",
        "args ['its', '--own']",
    ]
    assert (ended.returncode, ended.stderr) == (0, "")


def test_quit_and_the_end_of_a_pipe_end_the_script_quietly(tmp_path: Path) -> None:
    for typed in ("q\n", "n\n"):
        ended = said(tmp_path, "debug", "scale.py", script=FINE, typed=typed)
        assert "args" not in ended.stdout
        assert (ended.returncode, ended.stderr) == (0, "")


def test_a_session_leaves_memory_as_it_showed_it(tmp_path: Path) -> None:
    script = FINE + "print(out[:3], out[-1])\n"
    ended = said(tmp_path, "debug", "scale.py", script=script, typed="b 8\nc\nc\nc\nc\nc\n")
    assert "[2. 2. 2.] 2.0" in ended.stdout


def test_later_launches_stop_at_the_breakpoints_that_were_set(tmp_path: Path) -> None:
    again = FINE + "scale[(1,)](x, out, 8, BLOCK=8)\n"
    ended = said(tmp_path, "debug", "scale.py", script=again, typed="b 8 in 0\nc\nc\nc\nc\nc\n")
    assert ended.stdout.count("breakpoint 1\nscale.py:8") == 2
    assert "of grid (3, 1, 1)\n   8" in ended.stdout and "of grid (1, 1, 1)\n   8" in ended.stdout


def test_the_launch_to_stop_in_can_be_chosen(tmp_path: Path) -> None:
    again = FINE + "scale[(1,)](x, out, 8, BLOCK=8)\n"
    words = ["debug", "scale.py", "--launch", "2"]
    ended = said(tmp_path, *words, script=again, typed="info args\nq\n")
    assert "of grid (1, 1, 1)" in ended.stdout and "n        int32        8" in ended.stdout
    ended = said(tmp_path, "debug", "scale.py", "--launch", "3", script=again)
    assert "there was no launch 3; scale was launched 2 times" in ended.stderr


def test_what_could_not_be_stopped_in_is_said(tmp_path: Path) -> None:
    ended = said(tmp_path, "debug", "scale.py", "--program", "9", script=FINE)
    assert "no program instance (9, 0, 0) ran; the last of scale is (2, 0, 0)" in ended.stderr
    ended = said(tmp_path, "debug", "scale.py", "--kernel", "other", script=FINE)
    assert "kernel other was not launched; scale was" in ended.stderr
    assert ended.returncode == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pdb", "--batch", "scale.py"], "--pdb goes with --kernel and --program only"),
        (["--batch", "--tui", "scale.py"], "--batch has no screen"),
        (["--launch", "0", "scale.py"], "--launch is a number from 1"),
        (["--commands", "none.txt", "scale.py"], "none.txt"),
        (["missing.py"], "no script 'missing.py' here"),
    ],
)
def test_words_that_cannot_be_meant_are_refused(
    tmp_path: Path, words: list[str], message: str
) -> None:
    ended = said(tmp_path, "debug", *words, script=FINE)
    assert ended.returncode == 2 and message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_batch_writes_one_object_for_each_command_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "do.txt").write_text("# a comment\nb 8\n\nc\np x\nnosuch\nc\n")
    words = ["debug", "--batch", "--commands", "do.txt", "scale.py", "a"]
    ended = said(tmp_path, *words, script=FINE)
    first, point, stop, value, wrong, more = objects(ended.stdout)
    assert first["command"] is None and first["stop"]["reason"] == "line"
    assert point == {
        "command": "b 8", "ok": True, "number": 1,
        "text": "breakpoint 1: scale.py:8  tl.store(out_ptr + offs, x * 2, mask=offs < n)",
    }  # fmt: skip
    assert (stop["stop"]["line"], stop["stop"]["program"]) == (8, [0, 0, 0])
    assert stop["stop"]["breakpoint"] == 1
    assert value["value"] == {"type": "fp32[8]", "shape": [8], "values": [1.0] * 8}
    assert (wrong["ok"], "there is no command nosuch" in wrong["error"]) == (False, True)
    assert more["stop"]["program"] == [1, 0, 0]
    assert ended.returncode == 1  # a command was refused


def test_batch_keeps_what_the_script_prints_off_standard_output(tmp_path: Path) -> None:
    ended = said(tmp_path, "debug", "--batch", "scale.py", script=FINE, typed="c\nc\n")
    assert len(objects(ended.stdout)) == 3 and "args []" in ended.stderr
    assert ended.returncode == 0


def test_not_a_number_is_a_text_in_json(tmp_path: Path) -> None:
    script = FINE.replace("x * 2", "tl.sqrt(x - 2)")
    typed = "until 8\np tl.sqrt(x - 2)\ncatch nan\nc\n"
    ended = said(tmp_path, "debug", "--batch", "scale.py", script=script, typed=typed)
    answers = objects(ended.stdout)
    assert answers[2]["value"]["values"] == ["nan"] * 8
    assert (answers[4]["stop"]["op"], answers[4]["stop"]["operands"]) == ("sqrt", [-1.0])


def test_a_replay_file_opens_where_it_was_saved(tmp_path: Path) -> None:
    typed = "b 8 in 2\nc\nsave bug.blockstep\nq\n"
    ended = said(tmp_path, "debug", "scale.py", script=FINE, typed=typed)
    assert "open it with: blockstep debug bug.blockstep" in ended.stdout
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "bug.blockstep").rename(tmp_path / "elsewhere" / "bug.blockstep")
    ended = said(tmp_path / "elsewhere", "debug", "bug.blockstep", typed="p offs\nll\nc\nq\n")
    lines = ended.stdout.splitlines()
    assert lines[:4] == [
        "bug.blockstep/scale.py:8 in scale, program instance (2, 0, 0) of grid (3, 1, 1)",
        "   8 ->     tl.store(out_ptr + offs, x * 2, mask=offs < n)",
        "(blockstep) p offs",
        "<int32[8] [16, 17, 18, 19, 20, 21, 22, 23]>",
    ]
    assert "   8B->     tl.store(out_ptr + offs, x * 2, mask=offs < n)" in lines
    assert lines[-2] == "the launch is over: 3 program instances ran"
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_replay_of_a_fault_has_the_fault(tmp_path: Path) -> None:
    said(tmp_path, "debug", "scale.py", script=FAULTY, typed="save bug.blockstep\nq\n")
    ended = said(tmp_path, "debug", "bug.blockstep", typed="c\nq\n")
    assert "error[out-of-bounds]: this load reads past the end of `x_ptr`" in ended.stdout
    assert "bug.blockstep/scale.py:7:9 in scale" in ended.stdout


def test_post_mortem_stops_only_where_a_launch_fails(tmp_path: Path) -> None:
    ended = said(tmp_path, "debug", "--post-mortem", "scale.py", script=FAULTY, typed="p offs\nq\n")
    assert "error[out-of-bounds]" in ended.stdout
    assert "[16, 17, 18, 19, 20, 21, 22, 23]" in ended.stdout
    ended = said(tmp_path, "debug", "--post-mortem", "scale.py", script=FINE)
    assert (ended.returncode, ended.stderr) == (0, "blockstep: no launch failed\n")


def test_check_debug_opens_in_the_launch_that_fails_and_reports_at_the_end(tmp_path: Path) -> None:
    ended = said(tmp_path, "check", "--debug", "scale.py", script=FAULTY, typed="info grid\nc\nc\n")
    assert "of 3 program instances done, 1 with a finding" in ended.stdout
    assert ended.returncode == 1 and ended.stderr.endswith("1 error in 1 launch\n")


def test_pdb_in_a_kernel_has_the_commands_that_only_look(tmp_path: Path) -> None:
    script = FINE.replace("    tl.store", "    breakpoint()\n    tl.store")
    typed = "info masks\nblame out_ptr[3]\nwho x_ptr[0]\nblame nosuch[1]\nu\nq\n"
    ended = said(tmp_path, "run", "scale.py", script=script, typed=typed, PYTHONBREAKPOINT="")
    assert "no name is a mask here" in ended.stdout
    assert "out_ptr[3] = 2, written last by program instance (0, 0, 0)" in ended.stdout
    assert "x_ptr[0] = 1 after 1 access" in ended.stdout
    assert "*** no argument is an array called `nosuch`" in ended.stdout


SLOW = """\
import numpy as np, triton, triton.language as tl

@triton.jit
def count(out_ptr, n):
    total = 0
    for i in range(n):
        total += i % 7
    tl.store(out_ptr, total)

out = np.zeros(1, np.int32)
count[(1,)](out, 100_000_000)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT for one process")
def test_ctrl_c_stops_a_running_launch_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    running = subprocess.Popen(
        [sys.executable, "-u", "-m", "blockstep", "debug", "slow.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        # a job in the background inherits that Ctrl-C is ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert running.stdin is not None and running.stdout is not None
    ends = threading.Timer(60, running.kill)  # rather than wait for a line that never comes
    ends.start()
    running.stdin.write("c\n")
    running.stdin.flush()
    while running.stdout.readline() not in ("(blockstep) c\n", ""):
        pass
    time.sleep(1)  # it runs
    running.send_signal(signal.SIGINT)
    assert running.stdout.readline() == "interrupted\n"
    assert running.stdout.readline().startswith("slow.py:")
    text, _ = running.communicate("p i > 0\nq\n", timeout=60)
    ends.cancel()
    assert "True" in text and running.returncode == 0
