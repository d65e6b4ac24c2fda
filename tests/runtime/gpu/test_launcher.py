"""Loading and launching: what reaches the driver, and what its refusals become."""

import pickle

import pytest

from blockstep.errors import OutOfResources, PTXASError
from blockstep.runtime.gpu import FAULTS, Binary, Box, Param
from blockstep.runtime.gpu.binary import Kind
from blockstep.runtime.gpu.failures import (
    DoesNotFit,
    GPUError,
    KernelFault,
    NotAssembled,
    OtherContext,
)
from blockstep.runtime.gpu.launcher import Launcher
from blockstep.runtime.gpu.loading import Loader
from tests.runtime.gpu.recording import PRIMARY, recording

ADD = (Param("pointer", "x"), Param("pointer", "y"), Param("i32", "n"))
BOX = Box("x", "fp16", (64, 64), (64, 1), (64, 64), 128)


def binary(parameters=ADD, name="add", shared=0, warps=4, ctas=1, **rest):
    return Binary(f".entry {name}", name, shared, warps, ctas, parameters, **rest)


def launcher(made, api, driver, **attributes):
    api.kernel(made, **attributes)
    return Launcher(driver, Loader(driver).load(made, 0)).launch


def test_the_values_arrive_in_the_kernels_parameters() -> None:
    api, driver = recording()
    launcher(binary(), api, driver)(3, 2, 1, 77, (0x7F0000001000, 0x7F0000002000, -5))
    (launch,) = api.launches
    assert launch.values == (0x7F0000001000, 0x7F0000002000, -5)
    assert (launch.grid, launch.threads, launch.shared, launch.stream) == ((3, 2, 1), 128, 0, 77)


def test_every_kind_of_parameter_is_aligned_and_arrives() -> None:
    kinds: tuple[Kind, ...] = ("i1", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "pointer")
    parameters = [Param(kind, kind) for kind in kinds]
    parameters.insert(1, Param("tensor_map", "map", BOX))
    api, driver = recording()
    values = (True, bytes(range(128)), -1, 300, 1 << 31, 1 << 63, 1.5, 2.5, 3.5, 16)
    launcher(binary(tuple(parameters)), api, driver)(1, 1, 1, 0, values)
    assert api.launches[0].values == (
        True, bytes(range(128)), -1, 300, -(1 << 31), -(1 << 63), 1.5, 2.5, 3.5, 16,
    )  # fmt: skip


def test_bfloat16_and_floats_past_float32_are_rounded() -> None:
    api, driver = recording()
    go = launcher(binary((Param("bf16", "a"), Param("f32", "b"))), api, driver)
    go(1, 1, 1, 0, (1.0, 1e300))
    assert api.launches[0].values == (0x3F80, float("inf"))


def test_the_hidden_parameter_is_the_fault_record() -> None:
    api, driver = recording()
    made = api.kernel(binary((*ADD, Param("pointer", FAULTS))))
    Launcher(driver, Loader(driver).load(made, 0), faults=0xFA).launch(1, 1, 1, 0, (1, 2, 3))
    assert api.launches[0].values == (1, 2, 3, 0xFA)


def test_the_hidden_parameter_is_the_last_one() -> None:
    with pytest.raises(ValueError, match="the fault record is the last parameter"):
        binary((Param("pointer", FAULTS), *ADD))


def test_a_kernel_without_parameters() -> None:
    api, driver = recording()
    launcher(binary(()), api, driver)(1, 1, 1, 0, ())
    assert api.launches[0].values == ()


def test_a_program_instance_of_two_ctas_is_a_cluster() -> None:
    api, driver = recording()
    launcher(binary(ctas=2), api, driver)(5, 1, 1, 9, (1, 2, 3))
    (launch,) = api.launches
    assert (launch.grid, launch.cluster, launch.stream) == ((10, 1, 1), (2, 1, 1), 9)
    assert launch.attributes == ("CLUSTER_DIMENSION",)


def test_a_cluster_of_program_instances_leaves_the_grid_alone() -> None:
    api, driver = recording()
    launcher(binary(cluster=(2, 2, 1)), api, driver)(4, 4, 1, 0, (1, 2, 3))
    assert (api.launches[0].grid, api.launches[0].cluster) == ((4, 4, 1), (2, 2, 1))


def test_programmatic_and_cooperative_launches_say_so() -> None:
    api, driver = recording()
    made = binary(launch_pdl=True, launch_cooperative_grid=True)
    launcher(made, api, driver)(1, 1, 1, 0, (1, 2, 3))
    names = ("PROGRAMMATIC_STREAM_SERIALIZATION", "COOPERATIVE")
    assert api.launches[0].attributes == names


def test_a_launch_is_one_call_of_the_driver() -> None:
    api, driver = recording()
    go = launcher(binary(), api, driver)
    api.calls.clear()
    go(1, 1, 1, 0, (1, 2, 3))
    assert api.calls == ["cuLaunchKernel"]


def test_a_launch_inside_a_launch_has_its_own_frame() -> None:
    api, driver = recording()
    inner: list[int] = []
    made = binary()

    def body(launch):
        if not inner:
            inner.append(1)
            go(1, 1, 1, 0, (7, 8, 9))

    api.kernel(made, body)
    go = Launcher(driver, Loader(driver).load(made, 0)).launch
    go(1, 1, 1, 0, (1, 2, 3))
    assert [launch.values for launch in api.launches] == [(1, 2, 3), (7, 8, 9)]


def test_a_binary_is_loaded_once_a_context() -> None:
    api, driver = recording(2)
    made = api.kernel(binary())
    loader = Loader(driver)
    assert loader.load(made, 0) is loader.load(made, 0)
    assert loader.load(made, 1).context == PRIMARY + 1
    assert api.calls.count("cuModuleLoadDataEx") == 2
    assert api.stack == [PRIMARY]


def test_a_second_device_is_entered_for_the_launch() -> None:
    api, driver = recording(2)
    made = api.kernel(binary())
    Launcher(driver, Loader(driver).load(made, 1)).launch(1, 1, 1, 0, (1, 2, 3))
    assert len(api.launches) == 1
    assert api.stack == [PRIMARY]


def test_a_thread_without_a_context_gets_one() -> None:
    api, driver = recording()
    go = launcher(binary(), api, driver)
    api.stack.clear()
    go(1, 1, 1, 0, (1, 2, 3))
    assert len(api.launches) == 1


def test_a_context_that_the_kernel_was_not_loaded_into_is_said() -> None:
    api, driver = recording()
    go = launcher(binary(), api, driver)
    api.stack.append(0xA0000)  # the caller's own context on the same device
    with pytest.raises(OtherContext, match="in which the kernel was loaded"):
        go(1, 1, 1, 0, (1, 2, 3))


def test_attributes_of_the_function_are_told() -> None:
    api, driver = recording()
    made = api.kernel(binary(), NUM_REGS=90, LOCAL_SIZE_BYTES=24, SHARED_SIZE_BYTES=64)
    loaded = Loader(driver).load(made, 0)
    assert (loaded.registers, loaded.spills, loaded.static_shared) == (90, 6, 64)


@pytest.mark.parametrize(
    ("shared", "wanted"),
    [(48 << 10, []), ((48 << 10) + 16, [("add", "MAX_DYNAMIC_SHARED_SIZE_BYTES", 49168)])],
)
def test_more_than_48_kilobytes_are_asked_for(shared, wanted) -> None:
    api, driver = recording()
    launcher(binary(shared=shared), api, driver)
    assert api.set_attributes == wanted


def test_large_clusters_are_asked_for() -> None:
    api, driver = recording()
    launcher(binary(ctas=16), api, driver)
    assert api.set_attributes == [("add", "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)]


def test_too_much_shared_memory_says_how_much_and_what_helps() -> None:
    api, driver = recording()
    with pytest.raises(OutOfResources) as caught:
        launcher(binary(shared=232449), api, driver)
    text = str(caught.value)
    assert "shared memory, Required: 232449, Hardware limit: 232448" in text
    assert "`add` on NVIDIA H200" in text
    assert "lower num_stages or the block sizes" in text
    assert "cuModuleLoadDataEx" not in api.calls
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (DoesNotFit, text)


def test_static_shared_memory_counts() -> None:
    api, driver = recording()
    with pytest.raises(DoesNotFit, match="Required: 232449"):
        launcher(binary(shared=232448), api, driver, SHARED_SIZE_BYTES=1)


def test_too_many_warps_for_the_registers_names_them() -> None:
    api, driver = recording()
    with pytest.raises(DoesNotFit, match="a lane has 255 registers"):
        launcher(binary(warps=16), api, driver, NUM_REGS=255, MAX_THREADS_PER_BLOCK=256)


def test_refused_ptx_shows_the_drivers_log() -> None:
    api, driver = recording()

    def refuse(image, n, names, values):
        assert image.endswith(b"\0")
        said = b"ptxas application ptx input, line 3; error : Unknown symbol"
        values[2][: len(said)] = said
        return (api.CUresult.CUDA_ERROR_INVALID_PTX, None)

    api.answers["cuModuleLoadDataEx"] = refuse
    with pytest.raises(PTXASError) as caught:
        launcher(binary(), api, driver)
    assert isinstance(caught.value, NotAssembled)
    assert "`add`" in str(caught.value)
    assert "line 3; error : Unknown symbol" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_launch_that_is_refused_says_what_was_asked() -> None:
    api, driver = recording()
    go = launcher(binary(shared=512, warps=8), api, driver)
    api.failures["cuLaunchKernel"] = ["CUDA_ERROR_INVALID_VALUE"]
    with pytest.raises(GPUError) as caught:
        go(7, 1, 1, 0, (1, 2, 3))
    text = "launching a grid of 7x1x1 program instances with 8 warps and 512 bytes of shared memory"
    assert text in str(caught.value)
    go(1, 1, 1, 0, (1, 2, 3))
    assert len(api.launches) == 1


def test_a_grid_that_clusters_do_not_fill_is_said() -> None:
    api, driver = recording()
    go = launcher(binary(cluster=(2, 1, 1)), api, driver)
    api.failures["cuLaunchKernelEx"] = ["CUDA_ERROR_INVALID_VALUE"]
    with pytest.raises(GPUError, match=r"grid of \(5, 1, 1\) in clusters of \(2, 1, 1\)"):
        go(5, 1, 1, 0, (1, 2, 3))


@pytest.mark.parametrize(
    ("grid", "words"), [((1 << 31, 1, 1), "grid x"), ((1, 65536, 1), "grid y, Required: 65536")]
)
def test_a_grid_past_the_limits_is_named(grid: tuple[int, int, int], words: str) -> None:
    api, driver = recording()
    made = api.kernel(binary())
    with pytest.raises(OutOfResources, match=words):
        Launcher(driver, Loader(driver).load(made, 0)).check_grid(grid)


def test_an_illegal_address_names_the_kernels_that_may_have_done_it() -> None:
    api, driver = recording()
    go = launcher(binary(), api, driver)
    other = launcher(binary(name="scale"), api, driver)
    go(1, 1, 1, 0, (1, 2, 3))
    other(1, 1, 1, 0, (1, 2, 3))
    api.failures["cuStreamSynchronize"] = ["CUDA_ERROR_ILLEGAL_ADDRESS"]
    with pytest.raises(KernelFault) as caught:
        driver.wait(0)
    text = str(caught.value)
    assert text.startswith("`scale`, or one of the kernels launched before it (`add`), touched")
    assert "compute-sanitizer" in text
    assert "blockstep check" in text
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


def test_a_fault_found_by_the_next_launch_is_the_earlier_kernels() -> None:
    api, driver = recording()
    go = launcher(binary(), api, driver)
    go(1, 1, 1, 0, (1, 2, 3))
    api.failures["cuLaunchKernel"] = ["CUDA_ERROR_ILLEGAL_ADDRESS"]
    other = launcher(binary(name="scale"), api, driver)
    with pytest.raises(KernelFault, match=r"^`add` touched"):
        other(1, 1, 1, 0, (1, 2, 3))
