"""Never-written memory: what the patched factories mark, and what counts as written later."""

import gc
import subprocess
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from blockstep.interp.memory import AddressSpace
from blockstep.interp.registry import registry
from blockstep.runtime.factories import Factories, factories

torch = pytest.importorskip("torch")
if TYPE_CHECKING:
    from torch import Tensor
else:
    Tensor = torch.Tensor


def unwritten(array: Any) -> list[int]:
    """The offsets of unwritten bytes, as a new launch sees them."""
    flags = AddressSpace().add_array(array).unwritten()
    return [] if flags is None else np.flatnonzero(flags).tolist()


def store(array: Any, start: int, stop: int) -> None:
    """What a checker does when a kernel writes."""
    written = AddressSpace().add_array(array).written
    assert written is not None
    written[start:stop] = True


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.empty(6, np.float32),
        lambda: np.empty((2, 3), dtype="f4"),
        lambda: np.empty_like(np.zeros(6, np.float32)),
        lambda: torch.empty(6),
        lambda: torch.empty(2, 3, requires_grad=True),
        lambda: torch.empty_like(torch.zeros(6)),
        lambda: torch.zeros(1).new_empty(6),
        lambda: torch.empty_strided((2, 3), (3, 1)),
        lambda: torch.empty(6).t().detach()[2:],
        lambda: torch.from_numpy(np.empty(6, np.float32)),
        lambda: torch.empty(6).numpy(),
    ],
)
def test_every_factory_is_known(make: Any) -> None:
    with factories:
        assert unwritten(make()) == list(range(24))


@pytest.mark.parametrize("make", [lambda: np.zeros(6), lambda: torch.zeros(6), lambda: np.ones(3)])
def test_initialised_memory_counts_as_written(make: Any) -> None:
    with factories:
        assert unwritten(make()) == []


def test_what_the_host_wrote_is_written() -> None:
    with factories:
        x = np.empty(100, np.float32)
        x[10:20] = 1
        assert unwritten(x) == [*range(40), *range(80, 400)]
        x[:] = 0
        assert unwritten(x) == []


def test_short_runs_between_host_writes_count_as_written() -> None:
    with factories:
        x = np.empty(100, np.float32)
        x[::2] = 1
        assert unwritten(x) == []


def test_a_small_array_is_unwritten_as_a_whole_or_not_at_all() -> None:
    with factories:
        x = np.empty(3, np.int16)
        assert unwritten(x) == list(range(6))
        x[0] = 0
        assert unwritten(x) == []


def test_what_a_kernel_left_out_stays_unwritten_exactly() -> None:
    with factories:
        x = np.empty(8, np.float16)
        store(x, 0, 2)
        store(x, 4, 16)
        assert unwritten(x) == [2, 3]


def test_host_writes_between_launches_are_seen() -> None:
    with factories:
        x = np.empty(8, np.float32)
        for start in range(0, 32, 8):
            store(x, start, start + 4)
        assert unwritten(x) == [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]
        x[1] = 0
        assert unwritten(x) == [12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]


def test_a_view_that_starts_anywhere_sees_the_storage() -> None:
    with factories:
        x = np.empty(64, np.uint8)
        assert unwritten(x[5:].view(np.uint8)) == list(range(64))


def test_runs_across_the_pieces_that_are_looked_at() -> None:
    with factories:
        size = (1 << 20) + 100
        x = np.empty(size, np.uint8)
        x[: (1 << 20) - 5] = 0
        x[(1 << 20) + 5 :] = 0
        assert unwritten(x) == list(range((1 << 20) - 5, (1 << 20) + 5))


def test_new_memory_at_an_old_address_inherits_nothing() -> None:
    with factories:
        for _ in range(50):
            x = np.empty(4096, np.float32)
            del x
            y = np.zeros(4096, np.float32)
            assert unwritten(y) == []
            del y
            t = torch.empty(4096)
            del t
            u = torch.ones(4096)
            assert unwritten(u) == []


def test_the_registry_keeps_nothing_alive() -> None:
    with factories:
        before = -1
        while before != len(registry):  # what other tests left may take several rounds to go
            before = len(registry)
            gc.collect()
        kept = [np.empty(10), torch.empty(10)]
        assert len(registry) == before + 2
        kept.clear()
        gc.collect()
        assert len(registry) == before


def test_huge_arrays_stay_lazy_and_count_as_written() -> None:
    with factories:
        x = np.empty(1 << 33, np.uint8)
        assert AddressSpace().add_array(x).written is None


def test_arguments_and_results_are_the_originals() -> None:
    with factories:
        assert np.empty(2, object).tolist() == [None, None]
        assert np.empty((), np.int8).shape == ()
        assert np.empty(0).size == 0
        assert torch.empty(2, device="meta").device.type == "meta"
        assert torch.empty(2, dtype=torch.bool).dtype == torch.bool
        out = torch.zeros(3)
        assert torch.empty(3, out=out) is out
        assert out.tolist() == [0, 0, 0]
        with pytest.raises(TypeError):
            np.empty()  # type: ignore[call-overload]
        with torch.device("meta"):
            assert torch.empty(2).device.type == "meta"
        assert torch.empty.__name__ == "empty"


def test_a_scripted_function_may_call_a_factory() -> None:
    def scripted(x: Tensor) -> Tensor:
        filled: Tensor = torch.empty(3, 4).fill_(2) + torch.empty_like(x).zero_()
        return filled

    with factories, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.jit.script(scripted)
        assert compiled(torch.zeros(4)).sum() == 24


def test_installing_nests_and_puts_everything_back() -> None:
    originals = (np.empty, torch.empty, torch.Tensor.new_empty, torch.empty_strided)
    mine = Factories()
    with mine:
        with mine:
            assert np.empty is not originals[0]
        assert np.empty is not originals[0]
    assert (np.empty, torch.empty, torch.Tensor.new_empty, torch.empty_strided) == originals
    assert "new_empty" not in vars(torch.Tensor)
    mine.uninstall()
    assert not mine.installed


def test_the_maker_and_its_line_are_known() -> None:
    with factories:
        x = np.empty(3)
        record = AddressSpace().add_array(x).made_by
        assert record is not None
        assert record.made_by == "numpy.empty"
        assert record.made_at is not None
        assert record.made_at.file == __file__


LATE = """
import sys
from blockstep.runtime import redirect
from blockstep.runtime.factories import factories
{install}
assert "torch" not in sys.modules
import torch
from blockstep.interp.memory import AddressSpace
assert AddressSpace().add_array(torch.empty(3)).unwritten().all()
factories.uninstall()
assert not hasattr(torch.empty, "__wrapped__")
"""


@pytest.mark.parametrize(
    "install",
    [
        "factories.install()",
        "redirect.install(); factories.install()",
        "factories.install(); redirect.install()",
    ],
)
def test_torch_imported_later_is_patched_then(install: str) -> None:
    code = LATE.format(install=install)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_many_threads() -> None:
    failures: list[Any] = []

    def work() -> None:
        for n in range(1, 200):
            x = np.empty(n, np.float64)
            if len(unwritten(x)) != 8 * n:
                failures.append(n)

    with factories:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
