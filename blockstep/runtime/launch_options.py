"""Launch keywords that are not parameters of the kernel: `num_warps`, `num_stages`, …

The interpreting machines read `num_warps`; the rest is checked as the compiler would and kept for
the compiled kernel's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from blockstep import knobs
from blockstep.language.function import JITFunction
from blockstep.runtime.refusal import CallError

DEFAULTS: dict[str, Any] = {
    "num_warps": 4,
    "num_ctas": 1,
    "num_stages": 3,
    "warp_size": 32,
    "maxnreg": None,
    "ptx_version": None,
    "ptx_options": None,
    "ir_override": None,
    "enable_fp_fusion": True,
    "enable_reflect_ftz": True,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "supported_fp8_dtypes": ("fp8e5", "fp8e4b15"),
    "deprecated_fp8_dot_operand_dtypes": (),
    "default_dot_input_precision": "tf32",
    "allowed_dot_input_precisions": ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
    "max_num_imprecise_acc_default": None,
    "extern_libs": None,
    "debug": False,
    "backend_name": "cuda",
    "sanitize_overflow": True,
    "arch": None,
    "instrumentation_mode": "",
    "minRegAutoWS": None,
    "clc": None,
    "min_shared_mem": None,
    "sched4reg": None,
    "fpsan_homomorphic_casts": None,
    "waves_per_eu": 0,
    "matrix_instr_nonkdim": 0,
    "kpack": 1,
    "allow_flush_denorm": False,
}
OPTIONS = tuple(DEFAULTS)
_REFUSED = ("device", "device_type", "stream")
_CLUSTERS = 90  # the first architecture with clusters of CTAs


class BadWarps(CallError, AssertionError):
    """A number of warps that no CTA has; in Triton this is an assertion."""


class NoClusters(CallError, ValueError):
    """Several CTAs for each program instance, where the architecture knows no clusters."""


def split_options(
    kwargs: dict[str, Any], function: JITFunction
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Launch options (defaults filled in) and the kernel's own keyword arguments.

    A name that is both goes to the kernel and is an option too, as in Triton."""
    options, named = dict(DEFAULTS), {}
    options["arch"] = knobs.runtime.override_arch
    options["enable_fp_fusion"] = knobs.language.default_fp_fusion
    parameters = frozenset(function.arg_names)
    for key, value in kwargs.items():
        if key in parameters:
            named[key] = value
        if key in DEFAULTS:
            options[key] = value
        elif key in _REFUSED and key not in parameters:
            raise CallError(key, f"`{key}` is no launch option any more", fix=f"leave out {key}=")
        elif key not in parameters:
            named[key] = value
    return options, named


def check_options(options: dict[str, Any]) -> None:
    """Raises CallError for a number of warps, stages or CTAs that no launch has."""
    warps = options["num_warps"]
    if not isinstance(warps, int) or warps <= 0 or warps & (warps - 1):
        raise BadWarps(
            "num_warps", f"num_warps must be a power of 2, not {warps!r}", fix="num_warps=4"
        )
    for key in ("num_stages", "num_ctas"):
        value = options[key]
        if not isinstance(value, int) or value < (0 if key == "num_stages" else 1):
            raise CallError(key, f"{key} must be a positive integer, not {value!r}", fix=f"{key}=1")
    asked = asked_architecture(options)
    if options["num_ctas"] > 1 and asked is not None and asked < _CLUSTERS:
        raise NoClusters(
            "num_ctas",
            f"num_ctas > 1 requires NVIDIA SM90+ (Hopper), not sm{asked}",
            fix="num_ctas=1",
        )


def asked_architecture(options: Mapping[str, Any]) -> int | None:
    """The architecture that a launch is to be compiled for (90 for "sm90"), if it says so. Raises
    CallError."""
    name = options.get("arch")
    if not name:
        return None
    match = re.fullmatch(r"sm_?(\d+)a?", str(name))
    if match is None:
        raise CallError("arch", f"arch is {name!r}, no name of an architecture", fix="arch='sm90'")
    return int(match[1])
