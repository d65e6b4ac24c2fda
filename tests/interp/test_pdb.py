"""Scripted pdb sessions: every frame shown, and every place stopped at, is the user's.

The machine in these sessions is a small one of our own making in a file that is declared ours, so
that each session is about frames only. A session is a child process that reads pdb commands.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MACHINE = '''\
"""A machine with the frames that a real one has: ours around and below the user's."""
import sys
import numpy as np
from blockstep.interp import breakpoints
from blockstep.interp.scheduler import Scheduler

breakpoints.hide(__file__)
breakpoints.install()
memory = np.zeros(8)
scheduler = None


class jit:
    def __init__(self, function):
        self.function, self.__code__, self.__name__ = function, function.__code__, function.__name__
        breakpoints.register(function.__code__)

    def __call__(self, *args):
        return self.call_device(args)

    def call_device(self, args):
        return self.function(*args)

    def __getitem__(self, grid):
        return lambda *args: self.launch((grid, 1, 1), args)

    def launch(self, grid, args):
        global scheduler
        scheduler = Scheduler(grid)
        try:
            scheduler.run(lambda program: self.function(*args))
        except BaseException as error:
            breakpoints.leave_kernel(error, self.__name__, scheduler.program, grid)
            raise


def program_id():
    return scheduler.program[0]


def load(at):
    check(at)
    np.broadcast_to(np.zeros(1), (4,))  # a Python frame of NumPy's below ours
    value = memory[at]
    frame = sys._getframe(1)
    scheduler.note_event((frame.f_code, frame.f_lasti), False, (at, value), "load", at)
    return value


def numpy_fails():
    np.broadcast_to(np.zeros(3), (4,))


def check(at):
    if at >= 8:
        raise IndexError("out of bounds")


def store(at, value):
    memory[at] = value
    scheduler.changed()
'''

ADD = """\
import machine as tl

@tl.jit
def double(v):
    w = v + v
    return w

@tl.jit
def kernel(n):
    pid = tl.program_id()
    v = tl.load(pid)
    w = double(v + pid)
    for i in range(2):
        w = w + i
    tl.store(pid, w)

def main():
    kernel[3](8)
    print("after", tl.memory.tolist())

main()
"""

WAIT = """\
import machine as tl

@tl.jit
def kernel():
    pid = tl.program_id()
    while pid == 0 and tl.load(7) == 0:
        pass
    v = pid + 10
    tl.store(pid + 5, v)

def main():
    kernel[3]()
    print("after", tl.memory.tolist())

main()
"""

CRASH = """\
import machine as tl

@tl.jit
def kernel():
    pid = tl.program_id()
    at = 7 + pid
    v = tl.load(at)

def main():
    kernel[3]()

main()
"""


class Session:
    """One run of `script` under the given pdb commands."""

    def __init__(self, folder: Path, script: str, commands: str, *how: str) -> None:
        ours = folder / "ours"
        ours.mkdir()
        (ours / "machine.py").write_text(MACHINE)
        self.script = folder / "script.py"
        self.script.write_text(script)
        done = subprocess.run(
            [sys.executable, *how, str(self.script)],
            input="\n".join(commands.split(";")) + "\n",
            env={"PYTHONPATH": f"{ROOT}:{ours}", "PATH": "", "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.out, self.err, self.code = done.stdout, done.stderr, done.returncode
        self.text = self.out + self.err

    @property
    def stops(self) -> list[str]:
        """Where pdb stood, as `function:line`, one for each time that it said so."""
        found = re.findall(r"^(?:\(Pdb\) )*> (\S+)\((\d+)\)(\S*?)\(\)", self.out, re.MULTILINE)
        return [f"{function or '<module>'}:{line}" for _, line, function in found]

    def shows_only_the_user(self) -> bool:
        seen = set(re.findall(r"^(?:\(Pdb\) )*[> ] (\S+)\(\d+\)\S*\(\)", self.out, re.MULTILINE))
        seen |= set(re.findall(r'File "([^"]+)"', self.text))
        debuggers = re.compile(r"[bp]db\.py$|^<string>$")  # pdb shows its own, as ever
        return all(name == str(self.script) or debuggers.search(name) for name in seen)


UNDER_PDB = ("-m", "pdb")


def line(script: str, text: str) -> int:
    return next(i for i, found in enumerate(script.split("\n"), 1) if text in found)


def test_b_line_stops_in_each_instance(tmp_path: Path) -> None:
    at = line(ADD, "w = w + i")
    s = Session(tmp_path, ADD, f"b {at};c;p pid, i;c;p pid, i;c;p pid, i;cl 1;c;q", *UNDER_PDB)
    assert s.stops[1:4] == [f"kernel:{at}"] * 3
    assert "(0, 0)" in s.out
    assert "(0, 1)" in s.out
    assert "(1, 0)" in s.out
    assert "after [1.0, 3.0, 5.0" in s.out
    assert s.shows_only_the_user()


@pytest.mark.parametrize("name", ["kernel", "double"])
@pytest.mark.parametrize("defined", [False, True])
def test_b_name_stops_at_the_first_line_of_the_function(
    tmp_path: Path, name: str, defined: bool
) -> None:
    first = line(ADD, "pid = tl.program_id()" if name == "kernel" else "w = v + v")
    ahead = f"tbreak {line(ADD, 'kernel[3]')};c;" if defined else ""
    s = Session(tmp_path, ADD, f"{ahead}b {name};c;w;b;c;cl 1;cl 2;c;q", *UNDER_PDB)
    assert s.stops[1 + defined :][:3] == [f"{name}:{first}"] * 3  # `w` says so again
    assert "after [" in s.out
    assert s.shows_only_the_user()


def test_s_goes_from_line_to_line_and_into_a_device_function(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, f"b {line(ADD, 'pid = tl')};c" + ";s" * 12 + ";q", *UNDER_PDB)
    assert s.stops[1:14] == [
        "kernel:10", "kernel:11", "kernel:12", "double:3", "double:5", "double:6", "double:6",
        "kernel:13", "kernel:14", "kernel:13", "kernel:14", "kernel:13", "kernel:15",
    ]  # fmt: skip
    assert "--Return--" in s.out
    assert s.shows_only_the_user()


def test_s_goes_from_one_instance_to_the_next_and_at_last_to_the_host(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, "b 15;c;s;s;s;cl 1;b 15, pid == 2;c;s;s;s;q", *UNDER_PDB)
    assert s.stops[1:] == [
        "kernel:15", "kernel:15", "kernel:8", "kernel:10", "kernel:15", "kernel:15", "main:19",
        "main:19",
    ][: len(s.stops) - 1]  # fmt: skip
    assert "main:19" in s.stops
    assert s.shows_only_the_user()


def test_n_passes_over_a_device_function_and_ends_at_the_host(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, "b 12;c;cl 1;n;n;n;n;n;n;n;n;q", *UNDER_PDB)
    assert s.stops[1:] == [
        "kernel:12", "kernel:13", "kernel:14", "kernel:13", "kernel:14", "kernel:13", "kernel:15",
        "kernel:15", "main:19",
    ]  # fmt: skip
    assert s.shows_only_the_user()


def test_n_at_the_end_of_a_device_function_returns_to_the_kernel(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, "b 6;c;n;n;q", *UNDER_PDB)
    assert s.stops[1:] == ["double:6", "double:6", "kernel:13"]
    assert s.shows_only_the_user()


def test_return_ends_a_device_function_then_the_kernel_then_the_launch(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, "b 5;c;cl 1;r;n;r;r;q", *UNDER_PDB)
    assert s.stops[1:] == ["double:5", "double:6", "kernel:13", "kernel:15", "main:19"]
    assert s.shows_only_the_user()


def test_until_leaves_a_loop_and_at_the_end_the_launch(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, "b 14;c;cl 1;unt;unt;unt;q", *UNDER_PDB)
    assert s.stops[1:] == ["kernel:14", "kernel:15", "kernel:15", "main:19"]
    assert s.shows_only_the_user()


def test_w_u_and_d_show_the_kernel_below_its_host(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, "b 5;c;w;u;p n;u;p __name__;d;d;p v;q", *UNDER_PDB)
    assert s.stops[1:2] == ["double:5"]
    frames = re.findall(r"script\.py\(\d+\)(\w*|<module>)\(\)", s.out.split("(Pdb)")[3])
    assert frames == ["<module>", "main", "kernel", "double"]
    assert s.shows_only_the_user()


def test_a_changed_local_is_what_the_kernel_goes_on_with(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, "b 15, pid == 1;c;w;!w = 77.0;p w;c;q", *UNDER_PDB)
    assert "after [1.0, 77.0, 5.0" in s.out


def test_conditions_commands_and_display_work(tmp_path: Path) -> None:
    commands = "b 14, pid == 2 and i == 1;commands 1;p 'cond', w;end;c;display w;n;n;q"
    s = Session(tmp_path, ADD, commands, *UNDER_PDB)
    assert s.stops[1:] == ["kernel:14", "kernel:13", "kernel:15"]
    assert "('cond', np.float64(4.0))" in s.out
    assert "display w: np.float64(5.0)  [old: np.float64(4.0)]" in s.out


def test_jump_is_refused_in_a_kernel_and_works_in_the_host(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, "b 12;b 19;c;jump 15;j 15;cl 1;c;j 18;q", *UNDER_PDB)
    assert s.out.count("*** jump is not possible inside a kernel") == 2
    assert s.stops[-1] == "main:18"


@pytest.mark.parametrize("spelling", ["breakpoint()", "import pdb; pdb.set_trace()"])
@pytest.mark.parametrize("where", ["v = tl.load(pid)", "w = v + v"])
def test_a_breakpoint_in_the_source_stops_there(tmp_path: Path, spelling: str, where: str) -> None:
    script = ADD.replace(f"    {where}", f"    {spelling}\n    {where}")
    s = Session(tmp_path, script, "w;n;n;c;c;c")
    name = "kernel" if "load" in where else "double"
    assert {stop.split(":")[0] for stop in s.stops} <= {name, "kernel"}
    assert s.stops[0].startswith(name)
    assert "after [0.0, 2.0, 4.0" in s.out.replace("[1.0, 3.0, 5.0", "[0.0, 2.0, 4.0")
    assert s.shows_only_the_user()


def test_from_a_breakpoint_one_can_return_to_the_host(tmp_path: Path) -> None:
    stop = "    if pid == 0: breakpoint()\n"
    script = ADD.replace("    v = tl.load(pid)", f"{stop}    v = tl.load(pid)")
    s = Session(tmp_path, script, "r;r;p 'here';n;c")
    assert s.stops[-2].startswith("main:")
    assert s.shows_only_the_user()


def test_an_instance_that_began_while_another_waits_shows_the_host_too(tmp_path: Path) -> None:
    s = Session(tmp_path, WAIT, "b 8;c;p pid;w;u;p __name__, 'up';d;n;n;n;q", *UNDER_PDB)
    frames = re.findall(r"script\.py\(\d+\)(\w*|<module>)\(\)", s.out.split("(Pdb)")[4])
    assert frames == ["<module>", "main", "kernel"]
    assert "('__main__', 'up')" in s.out
    assert s.shows_only_the_user()


def test_stepping_shows_how_instances_take_turns(tmp_path: Path) -> None:
    commands = "b 6;c;cl 1" + ";s" * 7 + ";p 'second', pid;c;q"
    s = Session(tmp_path, WAIT, commands, *UNDER_PDB)
    assert s.stops[1:5] == ["kernel:6", "kernel:7", "kernel:6", "kernel:7"]
    assert s.stops[6:9] == ["kernel:3", "kernel:5", "kernel:6"]  # instance 1, from its def
    assert "('second', 1)" in s.out
    assert s.shows_only_the_user()


def test_n_follows_its_own_instance_while_others_run(tmp_path: Path) -> None:
    s = Session(tmp_path, WAIT, "b 5, True;c;cl 1" + ";n" * 8 + ";p pid;q", *UNDER_PDB)
    assert {stop.split(":")[0] for stop in s.stops[1:]} == {"kernel"}
    assert s.stops[-1] == "kernel:8"
    assert "(Pdb) 0" in s.out


def test_return_from_an_instance_on_its_own_stack_goes_to_the_host(tmp_path: Path) -> None:
    s = Session(tmp_path, WAIT, "b 8, pid == 1;c;r;r;q", *UNDER_PDB)
    assert s.stops[1:] == ["kernel:8", "kernel:9", "main:13"]
    assert s.shows_only_the_user()


def test_breakpoint_in_an_instance_on_its_own_stack(tmp_path: Path) -> None:
    script = WAIT.replace("    v = pid + 10", "    if pid == 1: breakpoint()\n    v = pid + 10")
    s = Session(tmp_path, script, "w;n;n;n;p 'host';n;c")
    assert s.stops[-2].startswith("main:") or s.stops[-1].startswith("main:")
    assert s.shows_only_the_user()


def test_an_uncaught_exception_shows_the_users_lines_and_the_instance(tmp_path: Path) -> None:
    s = Session(tmp_path, CRASH, "")
    assert s.code == 1
    assert "IndexError: out of bounds" in s.err
    assert "in kernel kernel, program instance (1, 0, 0) of grid (3, 1, 1)" in s.err
    assert re.findall(r"line (\d+), in (\S+)", s.err) == [
        ("12", "<module>"), ("10", "main"), ("7", "kernel")
    ]  # fmt: skip
    assert s.shows_only_the_user()


def test_post_mortem_stands_in_the_kernel(tmp_path: Path) -> None:
    script = CRASH.replace(
        "\nmain()\n",
        "\nimport pdb, sys\ntry:\n    main()\nexcept IndexError as e:\n"
        "    sys.last_exc, sys.last_traceback = e, e.__traceback__\n    pdb.pm()\n",
    )
    s = Session(tmp_path, script, "p at, pid;w;u;d;q")
    assert s.stops[0] == "kernel:7"
    assert "(8, 1)" in s.out
    assert s.shows_only_the_user()


def test_post_mortem_of_python_m_pdb_stands_in_the_kernel(tmp_path: Path) -> None:
    s = Session(tmp_path, CRASH, "c;p at, pid;w;q", *UNDER_PDB)
    assert "(8, 1)" in s.out
    assert s.shows_only_the_user()


def test_stepping_through_an_exception_shows_no_frame_of_ours(tmp_path: Path) -> None:
    s = Session(tmp_path, CRASH, "b 7, pid == 1;c;s;s;s;s;s;q", *UNDER_PDB)
    assert s.stops[1:4] == ["kernel:7", "kernel:7", "kernel:7"]
    assert s.stops[4].startswith("main:10")
    assert s.shows_only_the_user()


def test_q_ends_as_in_plain_python(tmp_path: Path) -> None:
    s = Session(tmp_path, ADD, "b 12;c;q", *UNDER_PDB)
    assert s.code == 0
    assert "Traceback" not in s.text


def test_q_after_a_breakpoint_raises_what_plain_python_raises(tmp_path: Path) -> None:
    s = Session(tmp_path, WAIT.replace("    v = pid", "    breakpoint()\n    v = pid"), "q\ny")
    assert "in kernel kernel" not in s.err
    assert s.err == "" or s.err.endswith("bdb.BdbQuit\n")
    assert "after [" not in s.out


LONG = """\
import machine as tl
import os, signal, sys, threading

@tl.jit
def kernel():
    pid = tl.program_id()
    for i in range(100):
        v = tl.load(0)
        tl.store(0, v)

def main():
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    kernel[10**7]()

main()
"""


def test_control_c_under_pdb_stops_in_the_kernel(tmp_path: Path) -> None:
    s = Session(tmp_path, LONG, "c;w;p 'pid', pid;n;p 'i', i;q", *UNDER_PDB)
    assert "Program interrupted" in s.out
    assert {stop.split(":")[0] for stop in s.stops[1:]} == {"kernel"}
    assert "('pid', " in s.out
    assert s.shows_only_the_user()


def test_control_c_without_a_debugger_is_a_keyboard_interrupt(tmp_path: Path) -> None:
    # shells let what runs in the background ignore the signal, and children inherit that
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    s = Session(tmp_path, LONG.replace("\nmain()", f"\n{heard}main()"), "")
    assert re.search(r"KeyboardInterrupt\nin kernel kernel, program instance \(\d+, 0, 0\)", s.err)
    assert s.shows_only_the_user()


def test_a_librarys_frames_below_ours_are_not_shown_either(tmp_path: Path) -> None:
    script = CRASH.replace("tl.load(at)", "tl.numpy_fails()")
    s = Session(tmp_path, script, "c;w;q", *UNDER_PDB)
    assert "in kernel kernel, program instance (0, 0, 0) of grid" in s.err
    assert s.stops[1] == "kernel:7"
    assert s.shows_only_the_user()


@pytest.mark.parametrize("printed", ["traceback.print_exc()", "logging.exception('failed')"])
def test_a_printed_traceback_shows_the_users_lines(tmp_path: Path, printed: str) -> None:
    caught = f"import logging, traceback\ntry:\n    main()\nexcept IndexError:\n    {printed}"
    script = CRASH.replace("\nmain()\n", f"\n{caught}\n")
    s = Session(tmp_path, script, "")
    assert s.err.count("File ") == 3
    assert s.shows_only_the_user()


def test_pytest_pdb_stands_in_the_kernel(tmp_path: Path) -> None:
    script = CRASH.replace("\nmain()\n", "\ndef test_it(): main()\n")
    how = ("-m", "pytest", "--pdb", "-p", "no:cacheprovider")
    s = Session(tmp_path, script, "p 'at', at, pid;u;u;q", *how)
    assert "('at', 8, 1)" in s.out
    assert s.stops == ["kernel:7", "main:10", "test_it:12"]


@pytest.mark.parametrize("how", [(), UNDER_PDB])
def test_a_session_can_begin_at_the_first_line_of_one_instance(
    tmp_path: Path, how: tuple[str, ...]
) -> None:
    stop = "    tl.breakpoints.stop_at_first_line(kernel.__code__)\n    kernel[3](8)"
    script = ADD.replace("    kernel[3](8)", stop)
    s = Session(tmp_path, script, "c;" * len(how[1:]) + "p 'n', n;n;n;w;c", *how)
    assert [stop for stop in s.stops if "module" not in stop][:3] == [
        "kernel:10", "kernel:11", "kernel:12",
    ]  # fmt: skip
    assert "('n', 8)" in s.out
    assert s.shows_only_the_user()


def test_ipython_style_subclasses_are_patched_too(tmp_path: Path) -> None:
    made = "import pdb\nclass Mine(pdb.Pdb):\n    pass\nMine().set_trace()\n"
    script = ADD.replace("\nmain()\n", f"\n{made}main()\n")
    s = Session(tmp_path, script, "tbreak kernel;c;s;s;s;r;n;q")
    assert {stop.split(":")[0] for stop in s.stops[1:]} <= {"kernel", "double"}
    assert s.shows_only_the_user()


def test_a_kernel_made_by_exec_can_be_stepped(tmp_path: Path) -> None:
    script = (
        "import linecache, machine as tl\n"
        "src = 'def k():\\n    a = 1\\n    b = tl.load(a)\\n    c = b\\n'\n"
        "linecache.cache['<made>'] = (len(src), None, src.splitlines(True), '<made>')\n"
        "exec(compile(src, '<made>', 'exec'))\n"
        "tl.jit(k)[2]()\n"
    )
    s = Session(tmp_path, script, "b 5;c;s;s;s;s;s;s;s;w;q", *UNDER_PDB)
    assert s.stops[2:8] == ["k:1", "k:2", "k:3", "k:4", "k:4", "k:1"]
    assert "/machine.py" not in s.out
