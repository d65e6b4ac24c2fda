"""Whom an element's value is blamed on, for kernels whose past one can tell by hand."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from blockstep.debugger.blame import accesses, as_json, blame, following
from blockstep.diagnostics.blame import blame_text, who_text
from blockstep.findings.blame import Chain, Link
from blockstep.interp.blame.tape import Tape
from blockstep.runtime.descriptor import TensorDescriptor
from blockstep.runtime.ladder.launch import Launch, take
from tests.debugger import blamed_kernels as kernels
from tests.debugger import entropy
from tests.debugger.blaming import check_links


def launched(kernel: Any, *args: Any, grid: Any = (1,), **constants: Any) -> Launch:
    return take(kernel, args, constants, grid)


def line_of(kernel: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(k for k, line in enumerate(lines) if text in line)


def only(link: Link, role: str) -> Link:
    (found,) = [o for o, r in zip(link.operands, link.roles, strict=True) if r == role]
    return found


def behind(chain: Chain, op: str) -> list[Link]:
    return [link for link in chain.head.walk() if link.op == op]


def test_the_way_from_a_store_to_a_load_through_a_choice_and_a_function() -> None:
    x = np.arange(8, dtype=np.float32)
    out = np.zeros(8, np.float32)
    launch = launched(
        kernels.chosen, x, np.zeros(8, np.float32), out, 7, 0.5, grid=(2,), BLOCK=4
    )  # fmt: skip
    chain = blame(launch, "out_ptr", (6,))
    assert (chain.program, chain.value, chain.head.op) == ((1, 0, 0), 3.0, "store")
    select = only(chain.head, "stored")
    assert (select.op, select.element) == ("select", (2,))
    y = only(select, "value")
    assert (y.op, y.value, y.element) == ("mul", 3.0, (2,))
    assert y.span is not None and y.span.function == "scaled"
    assert [c.line for c in y.callers] == [line_of(kernels.chosen, "y = scaled")]
    load = next(o for o in y.operands if o.op == "load")
    assert load.place is not None and load.note == "host"
    assert (load.place.argument, load.place.index, load.value) == ("x_ptr", (6,), 6.0)
    assert only(select, "condition").op == "gt"
    assert [link.name for link in behind(chain, "argument")] == ["s"]
    check_links(chain)


def test_the_side_that_was_not_chosen_is_not_blamed() -> None:
    x = np.ones(4, np.float32)
    launch = launched(
        kernels.chosen, x, x.copy(), np.zeros(4, np.float32), 4, 0.5, BLOCK=4
    )  # fmt: skip
    select = only(blame(launch, "out_ptr", (1,)).head, "stored")
    assert only(select, "value").op == "load"


def test_an_element_that_nobody_writes_is_as_the_host_passed_it() -> None:
    x = np.ones(8, np.float32)
    launch = launched(kernels.chosen, x, x.copy(), x.copy(), 7, 0.5, grid=(2,), BLOCK=4)
    chain = blame(launch, "out_ptr", (7,))
    assert (chain.program, chain.head.op, chain.head.note, chain.value) == (
        None,
        "memory",
        "host",
        1,
    )
    assert "this launch does not write it" in blame_text(chain)


def test_a_nan_leads_to_the_line_where_it_was_born() -> None:
    x = np.array([1, 2, -3, 4], np.float32)
    chain = blame(launched(kernels.logs, x, np.zeros(4, np.float32), BLOCK=4), "out_ptr", (2,))
    (born,) = [link for link in chain.head.walk() if link.note == "born"]
    assert born.span is not None and born.span.line == line_of(kernels.logs, "y = tl.log(x)")
    assert only(born, "value").value == -3
    assert "NaN made here" in blame_text(chain)


def test_an_infinity_leads_to_the_line_where_it_was_born() -> None:
    x = np.array([1, 0, 3, 4], np.float32)
    chain = blame(launched(kernels.logs, x, np.zeros(4, np.float32), BLOCK=4), "out_ptr", (1,))
    (born,) = [link for link in chain.head.walk() if link.note == "born"]
    assert born.op == "log" and "infinity made here" in blame_text(chain)


def test_the_largest_products_of_each_turn_are_told() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (16, 64)).astype(np.float16)
    b = rng.integers(-3, 4, (64, 16)).astype(np.float16)
    a[3, 40], b[40, 5] = 100, 50
    launch = launched(kernels.product, a, b, np.zeros((16, 16), np.float32), 64, N=16, BK=16)
    chain = blame(launch, "c_ptr", (3, 5))
    dots = behind(chain, "dot")
    assert [d.turns[0].number for d in dots] == [3, 2, 1, 0]
    assert [d.turns[0].value for d in dots] == [48, 32, 16, 0]
    assert dots[0].value == a[3].astype(np.float32) @ b[:, 5].astype(np.float32)
    third = dots[1]
    left = [o for o, r in zip(third.operands, third.roles, strict=True) if r == "left"]
    right = [o for o, r in zip(third.operands, third.roles, strict=True) if r == "right"]
    assert (left[0].value, right[0].value) == (100, 50)
    assert left[0].place is not None and left[0].place.index == (3, 40)
    assert (third.took, third.left_out) == (16, 12)
    assert only(dots[0], "accumulator") is dots[1]


def test_a_maximum_has_one_cause_and_a_sum_its_largest_terms() -> None:
    x = np.array([1, -50, 7, 3, 2, 20, 1, 1], np.float32)
    launch = launched(kernels.reduced, x, np.zeros(12, np.float32), N=8)
    most = only(blame(launch, "out_ptr", (0,)).head, "stored")
    assert (most.op, most.took, most.left_out) == ("reduce", 8, 7)
    assert only(most, "value").element == (5,)
    where = behind(blame(launch, "out_ptr", (1,)), "reduce")[0]
    assert where.value == 5 and only(where, "condition").value == 20
    total = only(blame(launch, "out_ptr", (2,)).head, "stored")
    assert [o.value for o in total.operands] == [-50, 20, 7, 3]
    assert (total.took, total.left_out) == (8, 4)
    prefix = only(blame(launch, "out_ptr", (4 + 2,)).head, "stored")
    assert (prefix.op, prefix.took) == ("scan", 3)
    assert [o.element for o in prefix.operands] == [(1,), (2,), (0,)]


def test_a_sorted_element_comes_from_one_place() -> None:
    x = np.array([5, 3, 8, 1, 9, 2, 7, 4], np.int32)
    chain = blame(launched(kernels.sorted_row, x, np.zeros(8, np.int32), N=8), "out_ptr", (6,))
    link = only(chain.head, "stored")
    while link.op != "load":  # along the values, past what compared them
        assert link.value == 8
        link = next(o for o in link.operands if o.value == 8 and o.op != "argument")
    assert link.place is not None and link.place.index == (2,)


def test_a_histogram_names_the_elements_that_it_counted_and_who_came_before() -> None:
    x = np.array([0, 1, 1, 3, 1, 1, 1, 2], np.int32)
    launch = launched(
        kernels.counted, x, np.zeros(4, np.int32), grid=(2,), N=4, BINS=4
    )  # fmt: skip
    chain = blame(launch, "out_ptr", (1,))
    assert (chain.value, chain.program) == (5, (1, 0, 0))
    counts = [link for link in behind(chain, "histogram") if link.element == (1,)]
    assert [(h.value, h.took) for h in counts] == [(3, 3), (2, 2)]
    before = only(chain.head, "old")
    assert (before.value, before.program) == (2, (0, 0, 0))
    assert only(before, "old").note == "host"


def test_lanes_of_one_atomic_come_one_after_the_other() -> None:
    launch = launched(kernels.lanes, np.zeros(10, np.int32), N=8)
    chain = blame(launch, "out_ptr", (1,))
    assert (chain.value, chain.head.took) == (2 + 4 + 6 + 8, 4)
    old = blame(launch, "out_ptr", (2 + 5,))
    assert old.value == 2 + 4
    found = only(only(old.head, "stored"), "memory")
    assert sorted(o.value for o, r in zip(found.operands, found.roles, strict=True) if r == "stored") == [
        2, 4,
    ]  # fmt: skip
    check_links(old)


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_who_drew_a_ticket_depends_on_the_order(seed: int) -> None:
    launch = launched(kernels.tickets, np.zeros(1, np.int32), np.zeros(8, np.int32), grid=(8,))
    order = [a.program for a in accesses(launch, "count_ptr", (0,), seed=seed)]
    for place in (0, 3, 7):
        chain = blame(launch, "out_ptr", (place,), seed=seed)
        assert chain.program == order[place] and chain.value == 10 * order[place][0]


def test_values_are_followed_through_other_instances() -> None:
    x = np.array([5, 0, 0, 0, 0], np.int32)
    chain = blame(launched(kernels.relay, x, grid=(4,)), "x_ptr", (4,))
    stores = behind(chain, "store")
    assert [s.program for s in stores] == [(3, 0, 0), (2, 0, 0), (1, 0, 0), (0, 0, 0)]
    assert [s.value for s in stores] == [9, 8, 7, 6]
    assert behind(chain, "load")[-1].note == "host"
    assert (chain.more, x.tolist()) == (0, [5, 0, 0, 0, 0])


def test_more_instances_than_are_followed_are_counted() -> None:
    chain = blame(launched(kernels.relay, np.zeros(41, np.int32), grid=(40,)), "x_ptr", (40,))
    assert (chain.value, chain.more) == (40, 1)
    assert behind(chain, "store")[-1].note == "more"
    assert "followed no further" in blame_text(chain, 60)


def test_an_in_place_kernel_goes_back_turn_by_turn() -> None:
    launch = launched(kernels.doubled, np.array([3, 1], np.int32), 3, BLOCK=2)
    chain = blame(launch, "x_ptr", (0,))
    assert [s.value for s in behind(chain, "store")] == [24, 12, 6]
    assert [s.turns[0].number for s in behind(chain, "store")] == [2, 1, 0]


def test_a_sum_in_a_loop_has_a_link_for_each_turn() -> None:
    x = np.arange(8, dtype=np.float32)
    launch = launched(kernels.carried, x, np.zeros(2, np.float32), 4, BLOCK=2)
    chain = blame(launch, "out_ptr", (1,))
    loads = behind(chain, "load")
    assert [link.place.index for link in loads if link.place] == [(7,), (5,), (3,), (1,)]
    assert "iteration 3" in blame_text(chain)


def test_an_index_out_of_memory_is_told_beside_the_value() -> None:
    launch = launched(
        kernels.gathered, np.array([4, 5, 6, 7], np.float32), np.array([2, 0, 1, 3], np.int64),
        np.zeros(4, np.float32), BLOCK=4,
    )  # fmt: skip
    load = only(blame(launch, "out_ptr", (0,)).head, "stored")
    assert load.place is not None and load.place.index == (2,)
    index = only(load, "index")
    assert index.value == 2
    assert [link.place for link in behind_load(index)] == [type(load.place)("index_ptr", (0,))]


def behind_load(link: Link) -> list[Link]:
    return [x for x in link.walk() if x.op == "load"]


def test_a_descriptor_is_an_argument_like_another() -> None:
    x = np.arange(32 * 16, dtype=np.float16).reshape(32, 16)
    out = np.zeros_like(x)
    given = [TensorDescriptor.from_tensor(t, [8, 16]) for t in (x, out)]
    launch = launched(kernels.described, *given, grid=(4,), BLOCK=8)
    chain = blame(launch, "out_desc", (17, 3))
    assert (chain.program, chain.value) == ((2, 0, 0), 2 * x[17, 3])
    (load,) = behind(chain, "load")
    assert load.place is not None
    assert (load.place.argument, load.place.index) == ("x_desc", (17, 3))
    assert [a.kind for a in accesses(launch, "x_desc", (17, 3))] == ["read"]


def test_a_masked_load_without_a_fill_value_is_undefined() -> None:
    launch = launched(kernels.unfilled, np.ones(4, np.float32), np.zeros(4, np.float32), 2, BLOCK=4)
    chain = blame(launch, "out_ptr", (3,))
    (load,) = behind(chain, "load")
    assert load.note == "undefined" and only(load, "condition").value == np.False_
    assert "undefined" in blame_text(chain)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float16])
def test_small_floats_keep_their_types(dtype: Any) -> None:
    x = np.array([1, 3.5, 0.25, -2], dtype)
    chain = blame(launched(kernels.narrowed, x, np.zeros(4, dtype), BLOCK=4), "out_ptr", (1,))
    assert chain.value.dtype == np.dtype(dtype) and float(chain.value) == 7
    assert behind(chain, "load")[0].value == x[1]
    check_links(chain)


def test_memory_is_left_as_it_was_found() -> None:
    x, out = np.ones(4, np.float32), np.zeros(4, np.float32)
    launch = launched(kernels.logs, x, out, BLOCK=4)
    out[...] = 5  # as a session in the middle of the launch has it
    blame(launch, "out_ptr", (0,))
    accesses(launch, "out_ptr", (0,))
    assert out.tolist() == [5, 5, 5, 5]


def test_an_answer_is_the_same_again_and_is_json() -> None:
    x = np.array([1, 2, -3, 4], np.float32)
    launch = launched(kernels.logs, x, np.zeros(4, np.float32), BLOCK=4)
    first, second = (as_json(blame(launch, "out_ptr", (2,))) for _ in range(2))
    assert first == second
    assert json.loads(json.dumps(first, allow_nan=False))["value"] == "nan"


def test_a_kernel_that_fails_says_so_beside_what_it_did() -> None:
    launch = launched(kernels.failing, np.ones(4, np.float32), np.zeros(4, np.float32), grid=(4,))
    chain = blame(launch, "out_ptr", (1,))
    assert chain.program == (1, 0, 0) and "cannot be block type" in chain.error
    assert "the kernel ended in" in blame_text(chain)
    assert blame(launch, "out_ptr", (2,)).program is None


def test_what_is_asked_about_must_exist() -> None:
    launch = launched(kernels.logs, np.ones(4, np.float32), np.zeros(4, np.float32), BLOCK=4)
    with pytest.raises(LookupError, match="no array argument `y_ptr`; it has x_ptr, out_ptr"):
        blame(launch, "y_ptr", (0,))
    with pytest.raises(IndexError, match="has 1 dimensions, 2 were given"):
        blame(launch, "out_ptr", (0, 0))
    with pytest.raises(IndexError, match=r"out_ptr\[4\] is outside"):
        accesses(launch, "out_ptr", (4,))


def test_an_instance_runs_again_for_values_that_were_let_go_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(32, 512)).astype(np.float16), rng.normal(size=(512, 32))
    args = a, b.astype(np.float16), np.zeros((32, 32), np.float32), 512
    launch = launched(kernels.product, *args, N=32, BK=16)
    wanted = as_json(blame(launch, "c_ptr", (3, 5)))
    made = Tape.__init__

    def small(self: Tape, program: Any, until: int | None = None, limit: int = 1 << 17) -> None:
        made(self, program, until, limit)

    monkeypatch.setattr(Tape, "__init__", small)
    assert as_json(blame(launch, "c_ptr", (3, 5))) == wanted
    monkeypatch.setattr(following, "MOST_WINDOWS", 1)
    cut = blame(launch, "c_ptr", (3, 5))
    assert cut.more and cut.links < len(wanted["links"])
    check_links(cut)


def test_the_documented_example_is_true() -> None:
    docs = (Path(__file__).parent.parent.parent / "docs" / "blame.md").read_text()
    for text in (
        blame_text(blame(entropy.launch, "out_ptr", (1,))),
        who_text(accesses(entropy.launch, "p_ptr", (1, 2))),
    ):
        assert "".join(f"    {line}\n" for line in text.splitlines()) in docs
