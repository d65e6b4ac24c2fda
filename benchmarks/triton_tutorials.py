"""Launches for `triton_ptx.py`: the kernels of Triton's tutorials, on small inputs.

They are taken from a checkout's `python/tutorials`: of each file only the imports of Triton and the
jit functions are executed, so nothing is tuned, timed or plotted, and torch is not needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from triton_cases import BOTH, HOPPER, WARPS, WIDE, Case, described, floats, halves, like, whole


def kernels_of(path: Path) -> dict[str, Any]:
    """The jit functions of a file, at their own lines, without what tunes them."""
    tree = ast.parse(path.read_text(), str(path))
    chosen: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and "jit" in map(_called, node.decorator_list):
            node.decorator_list = [n for n in node.decorator_list if _called(n) == "jit"]
            node.decorator_list = [_plain(n) for n in node.decorator_list]
            chosen.append(node)
        elif _imports_triton(node):
            chosen.append(node)
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(ast.Module(chosen, []), str(path), "exec"), names)
    return names


def _called(node: ast.expr) -> str:
    below = node.func if isinstance(node, ast.Call) else node
    return below.attr if isinstance(below, ast.Attribute) else ""


def _plain(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _imports_triton(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").startswith("triton") and "_C" not in (node.module or "")
    wanted = ("triton", "triton.language", "triton.language.extra.libdevice")
    return isinstance(node, ast.Import) and all(a.name in wanted for a in node.names)


def tutorial_cases(folder: Path) -> Iterator[Case]:
    """`python/tutorials`, 01 to 09 and 11."""
    k = {path.name[:2]: kernels_of(path) for path in sorted(folder.glob("*.py"))}
    n, block = 5000, {"BLOCK_SIZE": 1024}
    yield Case(
        "01 add",
        k["01"]["add_kernel"],
        lambda g: (floats(g, n), floats(g, n), np.zeros(n, np.float32), n),
        (5,),
        block,
    )
    for stages in (2, 4):
        yield Case(
            f"02 softmax num_stages={stages}",
            k["02"]["softmax_kernel"],
            lambda g: (like(x := floats(g, 23, 781)), x, 781, 781, 23, 781),
            (4,),
            {"BLOCK_SIZE": 1024, "num_stages": stages},
            BOTH,
            tuple((w, 3) for w, _ in WARPS),
        )
    tiles = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8}
    for activation in ("", "leaky_relu"):
        yield Case(
            f"03 matmul {activation}",
            k["03"]["matmul_kernel"],
            _product,
            (4 * 2,),
            {**tiles, "ACTIVATION": activation},
            BOTH,
            WIDE,
        )
    yield Case(
        "04 dropout",
        k["04"]["_dropout"],
        lambda g: (
            floats(g, n),
            (g.random(n) > 0.5).astype(np.int32),
            np.zeros(n, np.float32),
            n,
            0.5,
        ),
        (5,),
        block,
    )
    yield Case(
        "04 seeded dropout",
        k["04"]["_seeded_dropout"],
        lambda g: (floats(g, n), np.zeros(n, np.float32), n, 0.5, 123),
        (5,),
        block,
    )
    yield from _layer_norm(k["05"])
    yield from _attention(k["06"])
    yield Case(
        "07 asin",
        k["07"]["asin_kernel"],
        lambda g: (g.uniform(-1, 1, n).astype(np.float32), np.zeros(n, np.float32), n),
        (5,),
        block,
    )
    yield from _grouped(k["08"])
    yield from _persistent(k["09"])
    for waits in (False, True):
        yield Case(
            f"11 add USE_GDC={waits}",
            k["11"]["add_kernel"],
            lambda g: (floats(g, n), floats(g, n), np.zeros(n, np.float32), n),
            (5,),
            {**block, "USE_GDC": waits},
            HOPPER,
        )


def _product(g: np.random.Generator) -> tuple[Any, ...]:
    m, n, d = 256, 256, 192
    return halves(g, m, d), halves(g, d, n), np.zeros((m, n), np.float16), m, n, d, d, 1, n, 1, n, 1


def _layer_norm(k: dict[str, Any]) -> Iterator[Case]:
    m, n, rows = 12, 1000, 4
    block = {"BLOCK_SIZE": 1024}
    yield Case(
        "05 layer norm",
        k["_layer_norm_fwd_fused"],
        lambda g: (
            x := halves(g, m, n),
            like(x),
            halves(g, n),
            halves(g, n),
            np.zeros(m, np.float32),
            np.zeros(m, np.float32),
            n,
            n,
            1e-5,
        ),
        (m,),
        block,
    )
    yield Case(
        "05 layer norm, dx",
        k["_layer_norm_bwd_dx_fused"],
        lambda g: (
            np.zeros((m, n), np.float16),
            halves(g, m, n),
            np.zeros((rows, n), np.float16),
            np.zeros((rows, n), np.float16),
            halves(g, m, n),
            halves(g, n),
            floats(g, m),
            np.abs(floats(g, m)),
            np.zeros(2 * rows, np.int32),
            n,
            n,
        ),
        (m,),
        {"GROUP_SIZE_M": rows, "BLOCK_SIZE_N": 1024},
    )
    yield Case(
        "05 layer norm, dw and db",
        k["_layer_norm_bwd_dwdb"],
        lambda g: (
            halves(g, rows, n),
            halves(g, rows, n),
            np.zeros(n, np.float16),
            np.zeros(n, np.float16),
            rows,
            n,
        ),
        (8,),
        {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 128},
    )


def _attention(k: dict[str, Any]) -> Iterator[Case]:
    z, h, s, d = 1, 2, 256, 64
    rows = z * h * s

    def inputs(g: np.random.Generator, host: bool) -> tuple[Any, ...]:
        q, key, v = (halves(g, rows, d) for _ in range(3))
        four: list[Any] = [q, key, v, like(q)]
        if host:
            four = [described(a, b, d) for a, b in zip(four, (128, 64, 64, 128), strict=True)]
        return 0.5, np.zeros(rows, np.float32), z, h, *four, s

    for causal in (True, False):
        for host in (True, False):
            for special in (False, True):
                yield Case(
                    f"06 attention causal={causal} host={host} warp_specialize={special}",
                    k["_attn_fwd"],
                    lambda g, host=host: inputs(g, host),
                    (2, z * h),
                    {
                        "HEAD_DIM": d,
                        "BLOCK_M": 128,
                        "BLOCK_N": 64,
                        "FP8_OUTPUT": False,
                        "STAGE": 3 if causal else 1,
                        "warp_specialize": special,
                        "IS_HOPPER": True,
                    },
                    HOPPER if special or host else BOTH,
                    WIDE,
                )
    yield Case(
        "06 attention, preprocess",
        k["_attn_bwd_preprocess"],
        lambda g: (halves(g, rows, d), halves(g, rows, d), np.zeros(rows, np.float32), z, h, s),
        (2, h),
        {"BLOCK_M": 128, "HEAD_DIM": d},
    )

    def backward(g: np.random.Generator) -> tuple[Any, ...]:
        q, key, v, do = ((floats(g, z, h, s, d) / 4).astype(np.float16) for _ in range(4))
        largest = np.abs(floats(g, rows)) + 4
        return (
            q,
            key,
            v,
            0.5,
            do,
            like(q),
            like(q),
            like(q),
            largest,
            floats(g, rows),
            h * s * d,
            s * d,
            d,
            1,
            h,
            s,
        )

    names = {
        "BLOCK_M1": 32,
        "BLOCK_N1": 128,
        "BLOCK_M2": 128,
        "BLOCK_N2": 32,
        "BLK_SLICE_FACTOR": 2,
        "HEAD_DIM": d,
    }
    yield Case(
        "06 attention, backward",
        k["_attn_bwd"],
        backward,
        (s // 128, 1, z * h),
        names,
        BOTH,
        ((4, 5), (4, 2), (8, 3)),
    )


def _grouped(k: dict[str, Any]) -> Iterator[Case]:
    def tables(g: np.random.Generator, across: bool) -> tuple[Any, ...]:
        sizes = ((128, 128, 128), (256, 128, 64), (128, 256, 192))
        a = [whole(g, m, d) for m, _, d in sizes]
        b = [whole(g, n, d) if across else whole(g, d, n) for _, n, d in sizes]
        c = [np.zeros((m, n), np.float16) for m, n, _ in sizes]
        KEPT.extend([*a, *b, *c])
        lds = [[x.shape[1] for x in one] for one in zip(a, b, c, strict=True)]
        addresses = [np.array([x.ctypes.data for x in xs], np.int64) for xs in (a, b, c)]
        return (
            *addresses,
            np.array(sizes, np.int32).ravel(),
            np.array(lds, np.int32).ravel(),
            len(sizes),
        )

    blocks = {"NUM_SM": 3, "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64}
    yield Case(
        "08 grouped matmul",
        k["grouped_matmul_kernel"],
        lambda g: tables(g, False),
        (3,),
        blocks,
        BOTH,
        WIDE,
    )
    yield Case(
        "08 grouped matmul, descriptors",
        k["grouped_matmul_tma_kernel"],
        lambda g: tables(g, True),
        (3,),
        {**blocks, "FP8": False},
        HOPPER,
        WIDE,
    )


KEPT: list[Any] = []
"""Arrays that a launch knows by address only."""


def _persistent(k: dict[str, Any]) -> Iterator[Case]:
    m, n, d, sms = 256, 512, 192, 3
    blocks = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8}

    def plain(g: np.random.Generator) -> tuple[Any, ...]:
        return (
            halves(g, m, d),
            halves(g, d, n),
            np.zeros((m, n), np.float16),
            m,
            n,
            d,
            d,
            1,
            n,
            1,
            n,
            1,
        )

    def across(g: np.random.Generator) -> tuple[Any, ...]:
        return halves(g, m, d), halves(g, n, d), np.zeros((m, n), np.float16), m, n, d

    def host(g: np.random.Generator, half: int = 1) -> tuple[Any, ...]:
        a, b, c, *rest = across(g)
        return described(a, 128, 64), described(b, 128, 64), described(c, 128, 128 // half), *rest

    yield Case("09 matmul", k["matmul_kernel"], plain, (8,), blocks, BOTH, WIDE)
    yield Case(
        "09 persistent",
        k["matmul_kernel_persistent"],
        plain,
        (sms,),
        {**blocks, "NUM_SMS": sms},
        BOTH,
        WIDE,
    )
    for special in (False, True):
        more = {**blocks, "FP8_OUTPUT": False, "WARP_SPECIALIZE": special}
        yield Case(
            f"09 tma warp_specialize={special}",
            k["matmul_kernel_tma"],
            host,
            (8,),
            more,
            HOPPER,
            WIDE,
        )
        for subtile in (False, True):
            name = f"subtile={subtile} warp_specialize={special}"
            also = {**more, "EPILOGUE_SUBTILE": subtile, "NUM_SMS": sms}
            yield Case(
                f"09 tma persistent {name}",
                k["matmul_kernel_tma_persistent"],
                lambda g, s=subtile: host(g, 1 + s),
                (sms,),
                also,
                HOPPER,
                WIDE,
            )
            also = {k: v for k, v in also.items() if k != "FP8_OUTPUT"}
            for flat in (True, False):
                yield Case(
                    f"09 descriptor persistent {name} flatten={flat}",
                    k["matmul_kernel_descriptor_persistent"],
                    across,
                    (sms,),
                    {**also, "FLATTEN": flat},
                    HOPPER,
                    WIDE,
                )
