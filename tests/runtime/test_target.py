"""Device profiles: selection, and the numbers host code and limits are decided from."""

from __future__ import annotations

import pytest

from blockstep import target


def test_h200_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(target.ENVIRONMENT, raising=False)
    assert target.current() is target.H200
    assert target.current().triple == target.GPUTarget("cuda", 90, 32)


def test_the_environment_chooses_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(target.ENVIRONMENT, "A100")
    assert target.current() is target.A100


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no device profile 'h300'; there are h200, h100, a100"):
        target.find("h300")


def test_using_ends_with_the_block() -> None:
    before = target.current()
    with target.using("l4") as chosen:
        assert target.current() is chosen is target.L4
    assert target.current() is before


def test_select_and_back() -> None:
    target.select("b200")
    assert target.current().capability == (10, 0)
    target.select(None)
    assert target.current().name == target.DEFAULT


def test_properties_of_h200() -> None:
    properties = target.H200.properties
    assert properties["multiprocessor_count"] == 132
    assert properties["max_shared_mem"] == 232448
    assert properties["max_num_regs"] == 65536
    assert properties["warpSize"] == 32
    assert 4700 < target.H200.bandwidth < 5000


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ((2**31 - 1, 65535, 65535), None),
        ((2**31, 1, 1), "grid x is 2147483648"),
        ((1, 65536), "grid y is 65536; NVIDIA H200 allows 65535"),
        ((1, 1, 65538), "grid z is 65538"),
    ],
)
def test_grid_limits_of_each_axis(grid: tuple[int, ...], words: str | None) -> None:
    found = target.H200.exceeded(grid)
    assert found is None if words is None else found is not None and words in found


def test_a_profile_may_limit_the_product_of_the_grid() -> None:
    assert target.ASCEND910B.exceeded((256, 255)) is None
    found = target.ASCEND910B.exceeded((256, 256))
    assert found is not None and "65536 program instances; Ascend 910B allows 65535" in found
