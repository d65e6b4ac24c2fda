"""`blockstep ptx`: what is launched is said in words, and judged; wrong words are answered."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blockstep.commandline import main
from blockstep.runtime.ptx.given import TYPES, arguments_from

ADD = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 out, .param .u32 n)
.reqntid 128
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %d<8>;
    ld.param.u64 %d0, [x];
    ld.param.u64 %d1, [out];
    ld.param.u32 %r4, [n];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %r2, %r1, 128, %r0;
    setp.ge.u32 %p0, %r2, %r4;
    @%p0 bra DONE;
    mul.wide.u32 %d2, %r2, 4;
    add.u64 %d3, %d0, %d2;
    add.u64 %d4, %d1, %d2;
    ld.global.f32 %f0, [%d3];
    add.f32 %f1, %f0, 0f3F800000;
    st.global.f32 [%d4], %f1;
DONE:
    ret;
}
"""

RACE = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry turn(.param .u64 out)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    .shared .align 16 .b8 memory[256];
    ld.param.u64 %d0, [out];
    mov.u32 %r0, %tid.x;
    shl.b32 %r1, %r0, 2;
    mov.u32 %r2, memory;
    add.u32 %r3, %r2, %r1;
    st.shared.u32 [%r3], %r0;
    BARRIER
    xor.b32 %r4, %r1, 128;
    add.u32 %r5, %r2, %r4;
    ld.shared.u32 %r6, [%r5];
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d2, %d0, %d1;
    st.global.u32 [%d2], %r6;
    ret;
}
"""
DYNAMIC = RACE.replace(".shared .align 16 .b8 memory[256];", "").replace(
    ".visible", ".extern .shared .align 16 .b8 memory[];\n.visible"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "add.ptx").write_text(ADD)
    (tmp_path / "race.ptx").write_text(RACE.replace("BARRIER", ""))
    (tmp_path / "turn.ptx").write_text(RACE.replace("BARRIER", "bar.sync 0;"))
    (tmp_path / "dynamic.ptx").write_text(DYNAMIC.replace("BARRIER", "bar.sync 0;"))
    (tmp_path / "two.ptx").write_text(ADD + ADD[ADD.index(".visible") :].replace(" add(", " sub("))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_clean_launch_prints_and_saves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "ptx add.ptx --grid 2 --print out --save out=out.npy --args"
    assert main([*words.split(), "f32[200]=arange", "out:f32[200]=empty", "n=200"]) == 0
    ended = capsys.readouterr()
    assert "out float32[200]\n[  1.   2.   3. ... 198. 199. 200.]" in ended.out
    assert "no findings in 1 launch" in ended.err
    assert np.array_equal(np.load("out.npy"), np.arange(1, 201, dtype=np.float32))


def test_arrays_end_where_they_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "ptx add.ptx --grid 2 --args f32[200] f32[199] 200"
    assert main(words.split()) == 1
    told = capsys.readouterr().err
    assert "error[out-of-bounds]" in told and "add.ptx:24" in told
    assert "st.global.f32 [%d4], %f1;" in told and "1 error in 1 launch" in told


def test_memory_that_nothing_wrote_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "ptx add.ptx --args f32[128]=empty f32[128] n=128".split()
    assert main(words) == 0
    assert "warning[uninitialised]" in capsys.readouterr().err
    assert main([*words, "--fail-on", "warning"]) == 1


def test_a_race_is_told_with_both_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "--block 64 --args out:i32[64] --print out".split()
    assert main(["ptx", "turn.ptx", *words]) == 0
    assert main(["ptx", "race.ptx", *words]) == 1
    told = capsys.readouterr().err
    assert "error[race]" in told and "race.ptx:18" in told
    assert "14 |     st.shared.u32 [%r3], %r0;" in told
    assert main(["ptx", "race.ptx", *words, "--unjudged"]) == 0
    assert main(["ptx", "race.ptx", *words, "--skip", "race"]) == 0


def test_findings_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main("ptx race.ptx --block 64 --json - --args i32[64]".split())
    told = json.loads(capsys.readouterr().out)
    assert [f["kind"] for f in told["findings"]] == ["race"]
    assert told["launches"][0]["machine"] == "ptx" and told["launches"][0]["kernel"] == "turn"


def test_dynamic_shared_memory_is_as_long_as_was_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "ptx dynamic.ptx --block 64 --args i32[64]".split()
    assert main([*words, "--shared", "256"]) == 0
    assert main([*words, "--shared", "128"]) == 1
    assert "outside of shared memory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("add.ptx --args f32[8]", "--args has 1 arguments and the kernel takes 3"),
        ("add.ptx --args f32[8]", "the parameters of add: x (u64), out (u64), n (u32)"),
        ("two.ptx --args f32[8]", "two.ptx has 2 kernels: --entry add|sub"),
        ("add.ptx --entry sub", "has no kernel sub; it has add"),
        ("race.ptx --args i32[64]", "how many threads a CTA has: --block 128"),
        ("dynamic.ptx --block 64 --args i32[64]", "dynamic shared memory: --shared BYTES"),
        ("add.ptx --grid 0 --args f32[8] f32[8] 8", "--grid 0: a size is at least 1"),
        ("add.ptx --grid x --args f32[8] f32[8] 8", "--grid is X, X,Y or X,Y,Z, not 'x'"),
        ("add.ptx --args f31[8] f32[8] 8", "no type is called f31; there are i8"),
        ("add.ptx --args f32[8]=randm f32[8] 8", "no content is called randm; there are zeros"),
        ("add.ptx --args f32[8] f32[8] 5000000000", "the parameter has 4 bytes, and 5000000000"),
        ("add.ptx --args f32[8] f32[8] many", "an argument is TYPE[SHAPE]=CONTENT"),
        (
            "add.ptx --print y --args x:f32[8] f32[8] 8",
            "no array argument is called y; there are x",
        ),
        ("add.ptx --save x --args x:f32[8] f32[8] 8", "--save is NAME=FILE.npy, not 'x'"),
        ("gone.ptx", "gone.ptx"),
    ],
)
def test_wrong_words_are_answered_before_anything_runs(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert main(["ptx", *words.split()]) == 2
    assert message in capsys.readouterr().err


def test_an_unknown_instruction_is_a_limit_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("odd.ptx").write_text(ADD.replace("add.f32 %f1", "twist.f32 %f1"))
    assert main("ptx odd.ptx --args f32[8] f32[8] 8".split()) == 2
    assert "the ptx machine has no `twist.f32`: PTX line 23" in capsys.readouterr().err


def test_numbers_are_as_wide_as_their_parameter() -> None:
    words = ["7", "k=-1", "i64=7", "0.5", "f32=0.5", "null", "0x10"]
    given = arguments_from(words, [4, 4, 8, 8, 4, 8, 4])
    assert [g.value for g in given] == [7, -1, 7, 0.5, 0.5, 0, 16]
    assert [g.name for g in given] == ["arg0", "k", "arg2", "arg3", "arg4", "arg5", "arg6"]
    assert (given[2].value.dtype, given[4].value.dtype) == (np.int64, np.float32)


@pytest.mark.parametrize("name", TYPES)
def test_arrays_of_every_type_begin_at_a_page_and_hold_what_was_said(name: str) -> None:
    one, two = arguments_from([f"{name}[3,5]=2", f"{name}[4]=bits"], [8, 8])
    assert one.array is not None and two.array is not None
    assert one.array.shape == (3, 5) and (one.array == TYPES[name].type(2)).all()
    assert one.array.ctypes.data % 4096 == 0
    again = arguments_from([f"{name}[3,5]=2", f"{name}[4]=bits"], [8, 8])[1].array
    assert again is not None and again.tobytes() == two.array.tobytes()


def test_a_tensor_map_is_said_with_its_box(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((8, 16), np.float16))
    words = [f"x:@{tmp_path}/x.npy/box=4,16/swizzle=32", "f32[8,4]/box=8,4/fill=nan"]
    one, two = (given.value for given in arguments_from(words, [128, 128]))
    assert (one.shape, one.box, one.strides, one.swizzle) == ((16, 8), (16, 4), (32,), 32)
    assert np.isnan(np.frombuffer(two.fill, np.float32)).all()
    with pytest.raises(ValueError, match="a tensor map of 2 dimensions: box=N,N"):
        arguments_from(["f32[8,4]/box=8"], [128])
    with pytest.raises(ValueError, match="swizzle is one of 0, 32, 64, 128, not 48"):
        arguments_from(["f32[8,4]/box=8,4/swizzle=48"], [128])
