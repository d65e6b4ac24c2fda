"""What a kernel takes of a device: the rules of the CUDA occupancy calculator, and their text."""

import pytest

from blockstep import target
from blockstep.occupancy import occupancy
from blockstep.runtime.resources import Resources, resources_text

KIB = 1024


@pytest.mark.parametrize(
    ("device", "threads", "registers", "shared", "ctas", "limit"),
    [
        ("h200", 128, 32, 0, 16, "the number of warps"),
        ("h200", 32, 32, 0, 32, "the number of CTAs"),
        ("h200", 128, 40, 0, 12, "registers"),
        ("h200", 128, 168, 0, 3, "registers"),
        ("h200", 384, 168, 0, 1, "registers"),
        ("h200", 1024, 64, 0, 1, "registers"),
        ("h200", 1024, 65, 0, 0, "registers"),  # 72 for each of 32 warps are more than there are
        ("h200", 288, 168, 0, 1, "registers"),
        ("h200", 288, 224, 0, 0, "registers"),  # 9 warps count as 12
        ("h200", 128, 32, 227 * KIB, 1, "shared memory"),
        ("h200", 128, 32, 227 * KIB + 1, 0, "shared memory"),
        ("h200", 128, 32, 113 * KIB, 2, "shared memory"),  # and 1 KiB of the system's for each
        ("h200", 128, 32, 113 * KIB + 1, 1, "shared memory"),
        ("a100", 128, 32, 163 * KIB, 1, "shared memory"),
        ("a100", 256, 32, 40 * KIB, 4, "shared memory"),
        ("l4", 128, 32, 0, 12, "the number of warps"),
        ("l4", 32, 32, 0, 24, "the number of CTAs"),
    ],
)  # fmt: skip
def test_how_many_ctas_fit(
    device: str, threads: int, registers: int, shared: int, ctas: int, limit: str
) -> None:
    fits = occupancy(target.find(device), threads, registers, shared)
    assert (fits.ctas, fits.limit) == (ctas, limit)
    assert fits.warps == ctas * -(-threads // 32)
    assert fits.warps <= fits.warps_possible


def test_a_device_with_other_rules_has_no_occupancy() -> None:
    with pytest.raises(ValueError, match="Ascend 910B"):
        occupancy(target.ASCEND910B, 128, 32, 0)


def test_resources_read_as_sentences() -> None:
    needs = Resources(threads=128, registers=40, static_shared=512, dynamic_shared=32 * KIB)
    assert resources_text("softmax_kernel", target.H200, needs).splitlines() == [
        "softmax_kernel on NVIDIA H200: 4 warps",
        "  registers   40 a thread, no spills",
        "  shared      32.5 KiB a CTA (227 KiB possible)",
        "  occupancy   6 CTAs and 24 of 64 warps a multiprocessor (38 %), limited by shared memory",
    ]


def test_what_is_bad_about_a_kernel_is_said() -> None:
    needs = Resources(
        threads=1024, registers=255, spill_stores=128, spill_loads=132, stack=152, static_shared=64
    )
    text = resources_text("k", target.A100, needs, ["(C7512) a wgmma is serialised"])
    assert text.splitlines() == [
        "k on NVIDIA A100: 32 warps",
        "  registers   255 a thread, spills 128 bytes out and 132 bytes in",
        "  stack       152 bytes a thread",
        "  shared      64 bytes a CTA (163 KiB possible)",
        "  occupancy   no CTA fits: one takes more registers than there are",
        "  warning     (C7512) a wgmma is serialised",
    ]
