"""CUDA arrays as arguments, on a real device: copied in, and what changed copied back."""

from typing import Any

import numpy as np
import pytest

from blockstep.runtime.arrays import Binding, view_of

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)
pytest.importorskip("cuda.bindings.driver", reason="needs cuda-python")


def changed_on_the_host(array: Any) -> None:
    """Add 1 to the second element, as a kernel on the host would, and send it back."""
    binding = Binding()
    view = view_of(array, "x", binding)
    assert view.storage is not None
    elements = view.storage.typed(np.dtype(np.float32))
    elements[(view.base - view.storage.base) // 4 + view.strides[-1]] += 1
    assert binding.devices.copy_back() > 0


def test_a_cuda_tensor_with_strides_and_offset() -> None:
    x = torch.arange(24.0, device="cuda").view(4, 6)
    changed_on_the_host(x[1:, ::2])
    wanted = torch.arange(24.0).view(4, 6)
    wanted[1, 2] += 1
    assert torch.equal(x.cpu(), wanted)


def test_what_was_enqueued_before_is_seen() -> None:
    x = torch.zeros(1 << 24, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(50):
            x += 1
        changed_on_the_host(x)
    assert x[:3].tolist() == [50, 51, 50]


def test_a_cuda_array_interface() -> None:
    class Only:
        def __init__(self, array: Any) -> None:
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    x = torch.zeros(4, device="cuda")
    changed_on_the_host(Only(x))
    assert x.tolist() == [0, 1, 0, 0]


def test_dlpack_from_a_device() -> None:
    class Only:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.array.__dlpack__(**kwargs)

    x = torch.zeros(4, device="cuda")
    changed_on_the_host(Only(x))
    assert x.tolist() == [0, 1, 0, 0]
