"""The command line as a newcomer meets it: what is wrong is said in its own terms, before work."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCALE = """\
import sys
import numpy as np, triton, triton.language as tl

@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x * 2, mask=offs < n)

x = np.ones(20, np.float32)
out = np.empty_like(x)
scale[(3,)](x, out, x.size, BLOCK=8)
print("args", sys.argv[1:])
"""

FINE = SCALE.replace("tl.load(x_ptr + offs)", "tl.load(x_ptr + offs, mask=offs < n)")


def said(
    folder: Path, *words: str, script: str = SCALE, typed: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs `blockstep words` where the script lies as scale.py."""
    (folder / "scale.py").write_text(script)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "blockstep", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environment},
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "missing.py"], "no script 'missing.py' here"),
        (["check", "--only", "bogus", "scale.py"], "is called bogus; there are bounds, race"),
        (["check", "--launch", "x", "scale.py"], "--launch is N, N: or N:M, counted from 1"),
        (["check", "--program", "a,b", "scale.py"], "a program instance is X,Y,Z, not 'a,b'"),
        (["check", "--allow", "none.toml", "scale.py"], "none.toml: cannot be read"),
        (["check"], "name a script, or a module with -m"),
        (["explain", "bogus"], "no kind or checker is called 'bogus'"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    tmp_path: Path, words: list[str], message: str
) -> None:
    ended = said(tmp_path, *words)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1 and not ended.stdout


def test_an_unknown_target_in_the_environment_is_refused_before_the_script(tmp_path: Path) -> None:
    ended = said(tmp_path, "run", "scale.py", BLOCKSTEP_TARGET="bogus")
    assert ended.returncode == 2 and "no device profile 'bogus'" in ended.stderr
    assert "Traceback" not in ended.stderr


NOT_A_NUMBER = FINE.replace("x * 2", "tl.sqrt(x - 2)")


@pytest.mark.parametrize(
    ("flags", "status", "summary"),
    [
        ([], 0, "no findings in 1 launch"),
        (["--precision"], 0, "1 warning in 1 launch"),
        (["--only", "precision"], 0, "1 warning in 1 launch"),
        (["--precision", "--fail-on", "warning"], 1, "1 warning in 1 launch"),
        (["--precision", "--skip", "precision"], 0, "no findings in 1 launch"),
    ],
)
def test_nan_is_told_where_it_is_asked_for(
    tmp_path: Path, flags: list[str], status: int, summary: str
) -> None:
    ended = said(tmp_path, "check", *flags, "scale.py", "--precision", script=NOT_A_NUMBER)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (status, summary)
    assert ended.stdout == "args ['--precision']\n"


def test_findings_past_the_limit_still_fail_the_run(tmp_path: Path) -> None:
    ended = said(tmp_path, "check", "--max-findings", "0", "scale.py")
    assert ended.returncode == 1
    assert "1 past the limit of 0" in ended.stderr


def test_filters_that_leave_nothing_say_so_and_the_script_goes_on(tmp_path: Path) -> None:
    ended = said(tmp_path, "check", "--kernel", "nosuch", "scale.py", "--seed", "3")
    assert ended.returncode == 0
    assert "args ['--seed', '3']" in ended.stdout
    assert "none of them is what --kernel and --launch ask for (launched: scale)" in ended.stderr


def test_a_failed_script_is_said_after_the_summary(tmp_path: Path) -> None:
    ended = said(tmp_path, "check", "scale.py", script=FINE + "sys.exit(3)\n")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == "the script failed: exit status 3"


def test_run_ends_as_the_script_does(tmp_path: Path) -> None:
    assert said(tmp_path, "run", "scale.py", script=FINE + "sys.exit(3)\n").returncode == 3


def test_debug_takes_where_to_stop_after_the_script(tmp_path: Path) -> None:
    words = [
        "debug",
        "--pdb",
        "scale.py",
        "--kernel",
        "scale",
        "--program",
        "2,0,0",
        "its",
        "--own",
    ]
    ended = said(tmp_path, *words, script=FINE, typed="unt 8\np offs\np x\nc\n")
    assert "<int32[8] [16, 17, 18, 19, 20, 21, 22, 23]>" in ended.stdout
    assert "4 of 8 undefined: elements 4..7>" in ended.stdout
    assert "args ['its', '--own']" in ended.stdout
    assert ended.returncode == 0


def test_debug_says_when_there_was_nothing_to_stop_in(tmp_path: Path) -> None:
    ended = said(tmp_path, "debug", "--pdb", "scale.py", "--program", "9", script=FINE)
    assert "no program instance (9, 0, 0) ran; the last of scale is (2, 0, 0)" in ended.stderr
    ended = said(tmp_path, "debug", "--pdb", "scale.py", "--kernel", "other", script=FINE)
    assert "kernel other was not launched; scale was" in ended.stderr
    assert ended.returncode == 2


def test_q_in_debug_ends_quietly(tmp_path: Path) -> None:
    ended = said(tmp_path, "debug", "--pdb", "scale.py", script=FINE, typed="n\nq\n")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_stepping_past_the_end_of_the_script_shows_nothing_of_ours(tmp_path: Path) -> None:
    words = ["debug", "--pdb", "scale.py", "--program", "2"]
    ended = said(tmp_path, *words, script=FINE, typed="n\n" * 12)
    assert "threading.py" not in ended.stdout + ended.stderr
    assert ended.returncode == 0


def test_python_m_pdb_comes_back_to_its_prompt_after_a_run(tmp_path: Path) -> None:
    (tmp_path / "scale.py").write_text(FINE)
    ended = subprocess.run(
        [sys.executable, "-m", "pdb", "-m", "blockstep", "run", "scale.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input="c\nq\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout.count("The program exited via sys.exit()") == 1


def test_a_kernel_without_source_says_how_to_give_it_one(tmp_path: Path) -> None:
    text = "exec(open('scale.py').read())\n"
    (tmp_path / "made.py").write_text(text)
    ended = said(tmp_path, "run", "made.py")
    assert ended.returncode == 1
    assert "the source of `scale` is not to be found" in ended.stderr
    assert "linecache.cache[name] =" in ended.stderr


def test_json_goes_to_standard_output_and_the_rest_does_not(tmp_path: Path) -> None:
    ended = said(tmp_path, "check", "--json", "-", "scale.py")
    told = json.loads(ended.stdout.partition("\n")[2])
    assert [f["kind"] for f in told["findings"]] == ["out-of-bounds"]
    assert "error[out-of-bounds]" in ended.stderr


CHILDREN = """\
import multiprocessing as mp, os, subprocess, sys
import kern
if __name__ == "__main__":
    if sys.argv[1] == "subprocess":
        subprocess.run([sys.executable, "-c", "import kern; kern.over()"])
    else:
        with mp.get_context(sys.argv[1]).Pool(1) as pool:
            pool.apply(kern.over)
        with mp.get_context(sys.argv[1]).Pool(1) as pool:
            pool.apply(kern.racy)
"""

KERN = """\
import numpy as np, triton, triton.language as tl

@triton.jit
def load(x_ptr, B: tl.constexpr):
    tl.load(x_ptr + tl.arange(0, B))

@triton.jit
def store(x_ptr):
    tl.store(x_ptr, tl.program_id(0))

def over():
    load[(1,)](np.zeros(4, np.int32), B=8)

def racy():
    store[(4,)](np.zeros(4, np.int32))
"""


@pytest.mark.parametrize("how", ["subprocess", "fork", "spawn", "forkserver"])
def test_children_are_judged_and_say_nothing_themselves(tmp_path: Path, how: str) -> None:
    (tmp_path / "kern.py").write_text(KERN)
    ended = said(tmp_path, "check", "scale.py", how, script=CHILDREN)
    assert ended.returncode == 1
    assert "sitecustomize" not in ended.stderr
    found = "1 error in 1 launch" if how == "subprocess" else "2 errors in 2 launches"
    assert ended.stderr.splitlines()[-1] == found


def test_threads_started_in_a_check_block_are_judged(tmp_path: Path) -> None:
    (tmp_path / "kern.py").write_text(KERN)
    script = """\
import threading
import blockstep, kern
with blockstep.check() as report:
    threads = [threading.Thread(target=t) for t in [kern.over, kern.racy] * 4]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(repr(report))
print(report)
"""
    ended = said(tmp_path, "run", "scale.py", script=script)
    assert "<Report: 2 errors in 8 launches; print() shows them>" in ended.stdout
    assert "error[race]: `x_ptr` is written by two program instances" in ended.stdout


ALLOWED = """\
import numpy as np, triton, triton.language as tl

@triton.jit
def misspelt(x):
    tl.store(x, tl.program_id(0))  # blockstep: allow(rase)

@triton.jit
def many_lines(x):
    tl.store(
        x,
        tl.program_id(0),
    )

@triton.jit
def accepted(x):
    tl.store(
        x,
        tl.program_id(0),
    )  # blockstep: allow(race, bounds)

for kernel in (misspelt, many_lines, accepted):
    kernel[(3,)](np.zeros(4, np.int32))
"""


def test_an_allow_comment_that_names_nothing_is_pointed_out(tmp_path: Path) -> None:
    ended = said(tmp_path, "check", "scale.py", script=ALLOWED)
    assert "the comment here allows `rase`, which is no kind or checker" in ended.stderr
    assert "2 errors in 3 launches; 1 allowed" in ended.stderr


def test_an_expression_of_many_lines_is_shown_once_for_both_parties(tmp_path: Path) -> None:
    ended = said(tmp_path, "check", "scale.py", script=ALLOWED)
    assert ended.stderr.count("11 |         tl.program_id(0),") == 1
    assert "(1) write of x[0] by" in ended.stderr and "(2) write of x[0] by" in ended.stderr
