"""The driver on paper stands for a real one, so `cuda` is not this machine here."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _no_device_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of whole scripts let torch's `cuda` mean the CPU, and may have run in this process."""
    device_map = sys.modules.get("blockstep.runtime.torch_device")
    if device_map is not None:
        monkeypatch.setattr(device_map, "installed", lambda: False)
