"""A second process finds a kernel's code in the disk cache, and imports no compiler for it."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import hashlib
import sys

import numpy as np

import blockstep as triton
import blockstep.language as tl
from blockstep import target
from blockstep.runtime.arguments import bind
from blockstep.runtime.gpu.selection import compiler


@triton.jit
def double(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, 2 * tl.load(x + offsets))


x = np.zeros(128, np.float32)
bound = bind(double.params, (x, x, 128), {}, kernel="double", passed_at=None, options=())
with target.using(target.find("h100")):
    made = compiler()(double, bound, {"num_warps": 4})
compiling = [n for n in ("llvmlite", "cuda", "blockstep.compiler.lower") if n in sys.modules]
print(hashlib.sha256(made.asm["ptx"].encode()).hexdigest(), *compiling)
"""


def started(script: Path, cache: Path) -> list[str]:
    """A digest of the PTX, and what the process imported for compiling."""
    told = os.environ | {"BLOCKSTEP_CACHE_DIR": str(cache)}
    ran = subprocess.run(
        [sys.executable, str(script)], env=told, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_a_start_from_the_disk_cache_imports_no_compiler(tmp_path: Path) -> None:
    script = tmp_path / "double.py"
    script.write_text(SCRIPT)
    first, *imported = started(script, tmp_path / "cache")
    assert imported == ["llvmlite", "cuda", "blockstep.compiler.lower"]
    assert started(script, tmp_path / "cache") == [first]
