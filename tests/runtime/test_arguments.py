"""What a launch's arguments become: kinds, types, views, and what is refused with which words."""

import array
import ctypes
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from blockstep.language import types
from blockstep.language.constant import constexpr
from blockstep.runtime.arguments import Argument, ArgumentError, Bound, bind, parse_type
from blockstep.runtime.descriptor import TensorDescriptor

torch = pytest.importorskip("torch")


@dataclass
class Param:
    name: str = "x"
    is_constexpr: bool = False
    is_const: bool = False
    annotation_type: str = ""
    do_not_specialize: bool = False
    default: Any = None
    has_default: bool = False


def one(value: Any, **parameter: Any) -> Argument:
    return bind([Param(**parameter)], (value,), {}, kernel="k").arguments[0]


def refusal(value: Any, **parameter: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        one(value, **parameter)
    return str(caught.value)


def bind_call(*args: Any, **kwargs: Any) -> Bound:
    names = [
        Param("x"),
        Param("n"),
        Param("BLOCK", is_constexpr=True),
        Param("eps", default=1e-5, has_default=True),
    ]
    return bind(names, args, kwargs, kernel="k", options=("num_warps",))


# Numbers


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0, types.int32),
        (2, types.int32),
        (-(2**31), types.int32),
        (2**31 - 1, types.int32),
        (2**31, types.int64),
        (-(2**63), types.int64),
        (2**63, types.uint64),
        (2**64 - 1, types.uint64),
        (1.0, types.float32),
        (True, types.int1),
        (False, types.int1),
        (np.float64(1.5), types.float32),
    ],
)
def test_a_number_has_tritons_type(value: Any, wanted: Any) -> None:
    bound = one(value)
    assert (bound.kind, bound.value, bound.type) == ("scalar", value, wanted)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_an_integer_that_fits_no_type_overflows(value: int) -> None:
    with pytest.raises(OverflowError, match="argument `x` of k is the integer"):
        one(value)


def test_one_and_none_are_compile_time_values() -> None:
    assert (one(1).kind, one(1).value) == ("constexpr", 1)
    assert (one(None).kind, one(None).value) == ("constexpr", None)
    assert one(None, do_not_specialize=True).kind == "constexpr"
    assert one(1, do_not_specialize=True).type is types.int32


@pytest.mark.parametrize(
    ("annotation", "value", "wanted"),
    [
        ("i64", 1, types.int64),
        ("i64", 5, types.int64),
        ("u8", 255, types.uint8),
        ("fp64", 1.5, types.float64),
        ("fp16", 2, types.float16),
        ("bf16", 1.0, types.bfloat16),
        ("u1", 1, types.int1),
        ("i32", True, types.int32),
    ],
)
def test_an_annotation_fixes_the_type(annotation: str, value: Any, wanted: Any) -> None:
    bound = one(value, annotation_type=annotation)
    assert (bound.kind, bound.type) == ("scalar", wanted)


def test_a_number_that_its_annotation_cannot_hold() -> None:
    assert "0 to 255" in refusal(256, annotation_type="u8")
    assert "help: int(x)" in refusal(1.5, annotation_type="i32")


def test_divisibility_as_triton_sees_it() -> None:
    assert [one(v).divisible for v in (0, 16, -32, 8, 1.0, None)] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    x = np.zeros(64, np.int8)
    start = -x.ctypes.data % 16
    assert one(x[start:]).divisible
    assert not one(x[start + 1 :]).divisible


def test_compile_time_values_pass_through() -> None:
    assert one("mode", is_constexpr=True).value == "mode"
    assert one(constexpr(5), is_constexpr=True).value == 5
    assert one(constexpr(5)).kind == "constexpr"
    assert one(np.float32(2), is_constexpr=True).value == 2
    assert one(torch.float32, is_constexpr=True).kind == "constexpr"


# Arrays


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (np.zeros(3, np.float32), types.float32),
        (np.zeros((), np.int8), types.int8),
        (np.zeros(3, bool), types.int1),
        (np.zeros(3, ml_dtypes.bfloat16), types.bfloat16),
        (np.zeros(3, ml_dtypes.float8_e4m3fn), types.float8e4nv),
        (np.zeros(3, ml_dtypes.float8_e5m2fnuz), types.float8e5b16),
        (torch.zeros(3), types.float32),
        (torch.zeros(()), types.float32),
        (torch.zeros(3, dtype=torch.bool), types.int1),
        (torch.zeros(3, dtype=torch.bfloat16), types.bfloat16),
        (torch.zeros(3, dtype=torch.uint16), types.uint16),
        (torch.zeros(3).to(torch.float8_e4m3fn), types.float8e4nv),
        (torch.zeros(3).to(torch.float8_e4m3fnuz), types.float8e4b8),
        (torch.zeros(3).to(torch.float8_e5m2), types.float8e5),
        (torch.zeros(3).to(torch.float8_e5m2fnuz), types.float8e5b16),
        (torch.zeros(3, requires_grad=True), types.float32),
    ],
)
def test_an_array_is_a_pointer_to_its_elements(array: Any, wanted: Any) -> None:
    bound = one(array)
    assert bound.kind == "pointer"
    assert bound.type is types.pointer_type(wanted)
    assert bound.view is not None
    assert bound.view.dtype is wanted
    assert bound.view.shape == tuple(array.shape)


def test_views_keep_strides_and_offset() -> None:
    x = torch.arange(24.0).view(4, 6)[1:, ::2].t()
    view = one(x).view
    assert view is not None
    assert (view.base, view.shape, view.strides) == (x.data_ptr(), (3, 3), (2, 6))
    y = np.arange(24.0, dtype=np.float32).reshape(4, 6)[::-1, 3]
    view = one(y).view
    assert view is not None
    assert (view.base, view.shape, view.strides) == (y.ctypes.data, (4,), (-6,))


def test_two_views_of_one_storage_share_it() -> None:
    x = torch.zeros(8)
    bound = bind([Param("a"), Param("b")], (x[:4], x[4:]), {})
    a, b = bound.arguments
    assert a.view is not None
    assert b.view is not None
    assert a.view.storage is b.view.storage
    assert bound.space.views == [a.view, b.view]
    assert [v.name for v in bound.space.views] == ["a", "b"]


def test_what_is_written_is_in_the_callers_array() -> None:
    for x in (np.zeros((3, 4), np.float32)[:, 1], torch.zeros(3, 4)[:, 1]):
        view = one(x).view
        assert view is not None
        assert view.storage is not None
        view.storage.typed(np.dtype(np.float32))[(view.base - view.storage.base) // 4 + 4] = 7
        assert [float(v) for v in x] == [0, 7, 0]


def test_a_read_only_array_says_so() -> None:
    x = np.zeros(3)
    x.flags.writeable = False
    view = one(x).view
    assert view is not None
    assert not view.writeable


class OnlyDLPack:
    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.bool, torch.int64, torch.float8_e5m2]
)
def test_dlpack_without_a_copy(dtype: Any) -> None:
    x = torch.zeros(4, 6, dtype=dtype)[1:, ::2]
    view = one(OnlyDLPack(x)).view
    assert view is not None
    assert (view.base, view.shape, view.strides) == (x.data_ptr(), (3, 3), (6, 2))
    assert view.dtype is one(x).type.element_ty


def test_dlpack_of_a_read_only_numpy_array() -> None:
    x = np.arange(3.0)
    x.flags.writeable = False
    view = one(OnlyDLPack(x)).view
    assert view is not None
    assert not view.writeable


def test_dlpack_and_the_array_itself_are_one_storage() -> None:
    x = np.zeros(8, np.float32)
    bound = bind([Param("a"), Param("b")], (OnlyDLPack(x[4:]), x), {})
    assert len(bound.space.storages) == 1
    assert bound.arguments[0].view is not None
    assert bound.arguments[0].view.storage is bound.space.storages[0]


def test_a_buffer_is_an_array() -> None:
    x = array.array("f", [1, 2, 3])
    for buffer in (x, memoryview(x), (ctypes.c_float * 3)()):
        view = one(buffer).view
        assert view is not None
        assert (view.dtype, view.shape) == (types.float32, (3,))


class OnlyPointer:
    def __init__(self, address: int) -> None:
        self.address, self.dtype = address, types.float32

    def data_ptr(self) -> int:
        return self.address


def test_a_bare_pointer_reaches_the_rest_of_its_storage() -> None:
    x = torch.zeros(10)
    one(x)
    view = one(OnlyPointer(x.data_ptr() + 8)).view
    assert view is not None
    assert view.shape == (8,)
    nothing = one(OnlyPointer(0)).view
    assert nothing is not None
    assert nothing.storage is None
    assert nothing.size == 0


class Reinterpreted:
    def __init__(self, base: Any, dtype: Any) -> None:
        self.base, self.dtype, self.shape = base, dtype, base.shape

    def data_ptr(self) -> int:
        return int(self.base.data_ptr())

    def stride(self) -> Any:
        return self.base.stride()


def test_memory_seen_as_another_type() -> None:
    x = torch.zeros(4, dtype=torch.int8)
    bound = one(Reinterpreted(x, types.float8e4nv))
    assert bound.type is types.pointer_type(types.float8e4nv)
    assert bound.view is not None
    assert bound.view.base == x.data_ptr()
    assert "another size" in refusal(Reinterpreted(x, types.float32))


def test_a_const_pointer() -> None:
    assert one(torch.zeros(3), is_const=True).type is types.pointer_type(types.float32, const=True)


def test_an_annotated_pointer_reads_memory_as_it_says() -> None:
    assert one(torch.zeros(3), annotation_type="*i32").type is types.pointer_type(types.int32)


def test_short_names_of_types() -> None:
    assert parse_type("*kbf16") is types.pointer_type(types.bfloat16, const=True)
    assert parse_type("u1") is types.int1
    assert parse_type("fp8e5") is types.float8e5
    assert parse_type("nonsense") is None


# Tuples and descriptors


class Pair(NamedTuple):
    data: Any
    scale: Any


def test_tuples_are_bound_item_by_item() -> None:
    x = torch.zeros(4)
    bound = one((1, (x, 2.0), None))
    assert [a.name for a in bound.walk()] == ["x", "x[0]", "x[1]", "x[1][0]", "x[1][1]", "x[2]"]
    assert [a.kind for a in bound.items] == ["constexpr", "tuple", "constexpr"]
    named = one(Pair(x, 3))
    assert named.type.fields == ("data", "scale")
    assert named.items[0].view is not None
    assert named.items[0].view.name == "x.data"
    other: Any = namedtuple("other", "a")
    assert one(other(5)).items[0].name == "x.a"


def test_a_bad_item_of_a_tuple_is_named() -> None:
    assert "argument `x[1]` of k is a str 'a'" in refusal((1, "a"))


def test_a_descriptor() -> None:
    x = torch.zeros(8, 16, dtype=torch.float16)
    descriptor = TensorDescriptor.from_tensor(x, [4, 16])
    bound = one(descriptor)
    assert bound.kind == "descriptor"
    assert bound.value is descriptor
    assert bound.view is not None
    assert bound.view.base == x.data_ptr()
    assert str(bound.type.block_type) == "fp16[4, 16]"
    assert TensorDescriptor.from_tensor(np.zeros((4, 8), np.float32), [4, 8]).strides == (8, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shape": [8]}, "rank mismatch"),
        ({"block_shape": [3, 16]}, "power of 2"),
        ({"strides": [16, 2]}, "contiguous"),
        ({"strides": [3, 1]}, "16-byte aligned"),
        ({"shape": [0, 16]}, "positive"),
        ({"padding": "one"}, "padding"),
        ({"padding": "nan", "base": torch.zeros(8, 16, dtype=torch.int32)}, "nan needs floats"),
        ({"base": torch.zeros(200)[1:]}, "base must be 16-byte aligned"),
    ],
)
def test_a_descriptor_that_no_hardware_takes(change: dict[str, Any], words: str) -> None:
    good = {
        "base": torch.zeros(8, 16),
        "shape": [8, 16],
        "strides": [16, 1],
        "block_shape": [4, 16],
    }
    TensorDescriptor(**good)
    with pytest.raises(AssertionError, match=words):
        TensorDescriptor(**{**good, **change})


# Refusals


@pytest.mark.parametrize(
    ("value", "passed", "fix"),
    [
        ("abc", "a str 'abc'", "x: tl.constexpr"),
        (types.float32, "dtype", "x: tl.constexpr"),
        (torch.float32, "a torch.dtype torch.float32", "x: tl.constexpr"),
        (np.float32(1), "a numpy.float32", "x.item()"),
        (np.bool_(True), "a numpy.bool", "x.item()"),
        ([1, 2], "a list [1, 2]", "tuple(x)"),
        (1j, "a complex 1j", "x.real"),
        (object(), "an object", "tl.constexpr"),
        (np.zeros(3, complex), "an array of complex128", "x.real and x.imag"),
        (torch.zeros(3, dtype=torch.complex64), "an array of complex64", "x.real and x.imag"),
        (np.zeros(3, object), "an array of Python objects", "astype"),
        (np.zeros(3, "M8[s]"), "an array of dates", "astype"),
        (np.zeros(3, [("a", "f4")]), "an array of records", "x['a']"),
        (np.zeros(3, np.longdouble), "an array of", "astype"),
        (np.zeros(3, ">f4"), "byte order", "newbyteorder"),
        (np.ma.zeros(3), "a masked array", "x.filled(0)"),
        (torch.zeros(3).to_sparse(), "a sparse tensor", "x.to_dense()"),
        (torch.zeros(3, device="meta"), "a tensor without data", "device='cpu'"),
    ],
)
def test_what_is_refused_and_how_to_mend_it(value: Any, passed: str, fix: str) -> None:
    text = refusal(value)
    first, _, help_line = text.partition("\n")
    assert first.startswith("argument `x` of k is ")
    assert passed in first
    assert help_line.startswith("help: ")
    assert fix in help_line


def test_a_view_past_its_memory_is_refused() -> None:
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (100,), (4,))
    assert "past the memory" in refusal(x)


def test_a_call_is_bound_like_pythons() -> None:
    x = torch.zeros(3)
    bound = bind_call(x, BLOCK=8, n=5)
    assert [a.name for a in bound.arguments] == ["x", "n", "BLOCK", "eps"]
    assert list(bound.values.values()) == [x, 5, 8, 1e-5]
    assert bound.space.integers == {"n": 5, "BLOCK": 8}


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "missing a required argument: arguments `x`, `n`, `BLOCK`"),
        (
            (1, 2),
            {},
            "missing a required argument: tl.constexpr argument `BLOCK`\nhelp: pass BLOCK=",
        ),
        ((1, 2, 3, 4, 5), {}, "5 positional arguments, but the kernel has 4 parameters"),
        ((1, 2, 3), {"x": 4}, "argument `x` is given twice"),
        ((1, 2), {"BLOK": 4}, "did you mean BLOCK="),
        ((1, 2, 3), {"num_warp": 4}, "did you mean num_warps="),
        ((1, 2, 3), {"zebra": 4}, "its parameters are (x, n, BLOCK, eps)"),
    ],
)
def test_a_wrong_call(args: Any, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        bind_call(*args, **kwargs)
    assert words in str(caught.value)
    assert str(caught.value).startswith("k: ")


def test_an_unknown_keyword_is_a_key_error_as_tritons() -> None:
    with pytest.raises(KeyError, match="zebra was specified but unrecognised"):
        bind_call(1, 2, 3, zebra=4)
