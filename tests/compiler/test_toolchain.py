"""A key of the cache depends on the tools and on our own code."""

import os
from pathlib import Path

import pytest

from blockstep import knobs, language
from blockstep.compiler import toolchain
from blockstep.compiler.toolchain import fingerprint


@pytest.fixture(autouse=True)
def asked_anew():
    yield
    toolchain._own_code.cache_clear()
    toolchain._versions.cache_clear()


def test_the_same_tools_have_the_same_fingerprint() -> None:
    first = fingerprint()
    toolchain._own_code.cache_clear()
    toolchain._versions.cache_clear()
    assert fingerprint() == first
    assert "none" not in (first["llvmlite"], first["nvidia-nvjitlink"], first["nvidia-nvvm"])


def test_a_tool_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain._versions.cache_clear()
    monkeypatch.setattr(toolchain, "TOOLS", ("no-such-tool-of-ours",))
    assert fingerprint()["no-such-tool-of-ours"] == "none"


def test_editing_the_compiler_changes_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "deeper" / "lower.py"
    source.parent.mkdir()
    source.write_text("x = 1")
    monkeypatch.setattr(language, "__path__", [str(tmp_path)])
    toolchain._own_code.cache_clear()
    before = fingerprint()
    os.utime(source, (1, 1))
    toolchain._own_code.cache_clear()
    after = fingerprint()
    assert {name for name in before if before[name] != after[name]} == {"blockstep"}


def test_another_libdevice_changes_the_fingerprint(tmp_path: Path) -> None:
    chosen = tmp_path / "libdevice.bc"
    chosen.write_bytes(b"BC")
    before = fingerprint()
    with knobs.nvidia.scope():
        knobs.nvidia.libdevice_path = str(chosen)
        after = fingerprint()
        chosen.write_bytes(b"BC, and more")
        assert fingerprint() != after
    assert before != after
    assert fingerprint() == before
