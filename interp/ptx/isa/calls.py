"""Calls of functions that the driver brings: `vprintf` and `__assertfail`.

What a kernel prints is put into the batch's `state["printed"]`, a list of (CTA, thread, text), in
the order of threads; `run_ptx` writes it out.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

from blockstep.interp.ptx.decode import Decoder, Effect, effect
from blockstep.interp.ptx.faults import NOWHERE
from blockstep.interp.ptx.frame import Frame, Mask
from blockstep.interp.ptx.isa.registry import Instruction

_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(hh|h|ll|l|z|j)?([diouxXcsfFeEgGaAp%])")
_LONGEST = 4096


@effect("call")
def call(i: Instruction, d: Decoder) -> Effect:
    """A call of a function without a body."""
    results, target, given = i.operands[:3]
    sources = [d.source(one, one.type) for one in given]
    put = d.result(results[0], "b32") if results else None
    place = d.place
    if target.name not in ("vprintf", "__assertfail"):
        d.fail(f"call of {target.name}")
    fails = target.name == "__assertfail"

    def run(frame: Frame, mask: Mask) -> None:
        lanes = [frame.active(frame.regs[s], mask).tolist() for s in sources]
        if fails:
            message = text_at(frame, lanes[0][0])
            raise frame.batch.trap(frame, "assert", message, mask, place)
        ctas, tids = frame.active(frame.cta, mask), frame.active(frame.tid, mask)
        for cta, tid, *pointers in zip(ctas.tolist(), tids.tolist(), *lanes, strict=True):
            text = formatted(frame, cta, tid, pointers)
            frame.batch.printed.append((frame.batch.cta_of(cta), tid, text))
        if put is not None:
            one = np.zeros((1, 1), np.uint32)
            put(frame, one if mask is None else frame.active(one, mask), mask)

    return run


def text_at(frame: Frame, address: int) -> str:
    """The C string at a generic address."""
    found = bytearray()
    storage = frame.batch.memory.storage_at(address)
    while storage is not None and len(found) < _LONGEST:
        byte = int(storage.data[address + len(found) - storage.base])
        if not byte:
            break
        found.append(byte)
        if address + len(found) >= storage.end:
            break
    return found.decode(errors="replace")


def formatted(frame: Frame, cta: int, tid: int, pointers: list[int]) -> str:
    """What one thread prints. Arguments lie in a buffer, each naturally aligned."""
    one = Frame(frame.batch, frame.regs, np.array([[cta]]), np.array([[tid]]), True)
    at = pointers[1]

    def item(size: int) -> Any:
        nonlocal at
        at = -(-at // size) * size
        address = np.array([[at]], np.uint64)
        at += size
        return frame.batch.memory.load(one, "generic", address, size, None, NOWHERE).reshape(())[()]

    def value(match: re.Match[str]) -> str:
        length, kind = match[1] or "", match[2]
        if kind == "%":
            return "%"
        plain = match[0].replace(length, "") if length else match[0]
        if kind in "fFeEgGaA":
            return str(plain % struct.unpack("<d", struct.pack("<Q", int(item(8))))[0])
        if kind == "s":
            return plain % text_at(frame, int(item(8)))
        if kind == "p":
            return hex(int(item(8)))
        bits = 64 if length in ("l", "ll", "z", "j") else 32
        number = int(item(bits // 8))
        if kind in "di" and number >> (bits - 1):
            number -= 1 << bits
        return chr(number) if kind == "c" else plain.replace("u", "d") % number

    return _CONVERSION.sub(value, text_at(frame, pointers[0]))
