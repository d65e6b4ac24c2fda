"""A launch as a script that stands alone: `Case`, its text, and running the text in this process."""

from __future__ import annotations

import base64
import linecache
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.view import View
from blockstep.language.function import JITFunction
from blockstep.runtime.arguments import Argument
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.sources import NotWritten, Sources, literal
from blockstep.runtime.launch_options import DEFAULTS

ALIGNMENT = 16
LONGEST = 64  # elements that are written out
_MEMORY = '''
def memory(values, shift):
    """Memory with these values that begins `shift` bytes past a multiple of 16."""
    data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    whole = np.zeros(data.size + 32, np.uint8)
    start = (shift - whole.ctypes.data) % 16
    part = whole[start : start + data.size]
    part[:] = data
    return part
'''
_PACKED = '''
def packed(text, dtype):
    """Values that were compressed."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype)
'''


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A stretch of memory: its values, and how far its address is from a multiple of 16."""

    values: Any
    shift: int


@dataclass(frozen=True, slots=True)
class Array:
    """An array argument: the stretch of memory that it lies in, by number, and where in it."""

    block: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    offset: int


@dataclass(frozen=True, slots=True)
class Box:
    """A tensor descriptor of an array: shape, strides, block shape, and so on."""

    array: Array
    told: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """`before` is imports and constants, `functions` the text of each function, the kernel's last;
    `arguments` by parameter: an Array, a Box, a tuple of such, or what `literal` writes."""

    before: tuple[str, ...]
    functions: Mapping[str, str]
    kernel: str
    arguments: Mapping[str, Any]
    blocks: tuple[Block, ...]
    grid: tuple[int, int, int]
    options: Mapping[str, Any]

    def script(self, title: str) -> str:
        """The text of a file."""
        body = "\n".join([*self._made(), "", f"GRID = {self.grid!r}", *self._arguments()])
        functions = "\n\n\n".join(text.strip("\n") for text in self.functions.values())
        constants = [line for line in self.before if not _is_import(line)]
        read = "\n".join([*constants, functions])
        imports = [line for line in self.before if _is_import(line) and _is_read(line, read)]
        uses = [name for name in ("base64", "zlib") if "packed(" in body]
        head = [f"import {name}" for name in uses] + [""] * bool(uses)
        head += ["import ml_dtypes"] * ("ml_dtypes." in body) + ["import numpy as np", ""]
        box = ["from blockstep.tools.tensor_descriptor import TensorDescriptor"]
        head += imports + (box if "TensorDescriptor(" in body else [])
        helpers = _MEMORY + (f"\n{_PACKED}" if uses else "")
        told = "".join(f", {name}={literal(value)}" for name, value in self.options.items())
        main = f"""
if __name__ == "__main__":
    found = blockstep.verify({self.kernel}, grid=GRID, **arguments(){told})
    print(found.finding or found)
    raise SystemExit(1 if found.disagrees else 0)
"""
        doc = f'"""{title}\n\nRun it with `python` or `blockstep verify`: exit status 1 as long as it is so.\n"""\n'
        told_first = [line for group in (head, constants) if group for line in (*group, "")]
        parts = [doc, *told_first, "", helpers.strip("\n"), "\n", functions.strip("\n"), "\n", body]
        return "\n".join(parts) + "\n" + main

    def _made(self) -> list[str]:
        return [
            f"MEMORY_{n} = memory({_values(block.values)}, {block.shift})"
            for n, block in enumerate(self.blocks)
        ]

    def _arguments(self) -> list[str]:
        lines = ["", "", "def arguments():", "    return {"]
        lines += [f'        "{name}": {_written(v)},' for name, v in self.arguments.items()]
        return [*lines, "    }", ""]


def _is_read(line: str, text: str) -> bool:
    """Whether a text reads what is imported under another name."""
    _, _, name = line.partition(" as ")
    return not name or re.search(rf"\b{name}\b", text) is not None


def _is_import(line: str) -> bool:
    return line.startswith(("import ", "from "))


def _written(value: Any) -> str:
    if isinstance(value, Array):
        place = f"MEMORY_{value.block}, {value.offset}, {value.strides}"
        return f"np.ndarray({value.shape}, {value.dtype}, {place})"
    if isinstance(value, Box):
        return f"TensorDescriptor({_written(value.array)}, {', '.join(map(literal, value.told))})"
    if type(value) is tuple:
        return "(" + "".join(f"{_written(item)}, " for item in value) + ")"
    return literal(value)


def _values(values: Any) -> str:
    """An array as text: one number many times, a few numbers, or compressed."""
    name = dtype_text(values.dtype)
    flat = values.reshape(-1)
    bits = flat.view(np.uint8).reshape(flat.size, -1)
    plain = values.dtype.kind in "iubf"
    if flat.size and plain and (bits == bits[0]).all():
        zero = not bits[0].any()
        return (
            f"np.zeros({flat.size}, {name})"
            if zero
            else f"np.full({flat.size}, {_number(flat[0])}, {name})"
        )
    if plain and np.array_equal(flat, turns(flat)):
        return f"(np.arange({flat.size}) % 5 + 1).astype({name})"
    if plain and flat.size <= LONGEST:
        return f"np.array([{', '.join(map(_number, flat))}], {name})"
    text = base64.b64encode(zlib.compress(bits.tobytes(), 9)).decode()
    return f'packed("{text}", {name})'


def turns(values: Any) -> Any:
    """1 to 5 in turn, as many and of the type as these values."""
    return (np.arange(values.size) % 5 + 1).astype(values.dtype)


def _number(value: Any) -> str:
    return literal(value.item())


def dtype_text(kind: np.dtype[Any]) -> str:
    """`np.float32`, `ml_dtypes.bfloat16`."""
    if kind.kind == "b":
        return "np.bool_"
    return f"np.{kind.name}" if hasattr(np, kind.name) else f"ml_dtypes.{kind.name}"


def case_of(launch: Launch) -> Case:
    """A launch as it is. Memory has to be as it was before. Raises NotWritten."""
    if launch.memory.reached:
        raise NotWritten("it reaches memory through addresses")
    sources = Sources(launch.function)
    blocks: dict[int, tuple[int, Block]] = {}
    arguments = {a.name: taken(a, blocks, sources) for a in launch.bound.arguments}
    options = {
        name: value for name, value in launch.kwargs.items()
        if name in DEFAULTS and name not in arguments
    }  # fmt: skip
    before = (*sources.imports, *sources.constants)
    found = tuple(block for _, block in blocks.values())
    return Case(before, sources.functions, launch.kernel, arguments, found, launch.grid, options)


def taken(argument: Argument, blocks: dict[int, tuple[int, Block]], sources: Sources) -> Any:
    """An argument as `Case.arguments` has it; the memory that it lies in joins `blocks`, by address,
    numbered as it comes. Raises NotWritten."""
    if argument.kind == "tuple":
        if hasattr(argument.value, "_fields"):
            raise NotWritten(f"`{argument.name}` is a named tuple")
        return tuple(taken(item, blocks, sources) for item in argument.items)
    if argument.view is not None:
        array = _array(argument.view, blocks)
        if argument.kind != "descriptor":
            return array
        told = argument.value
        shape, strides = (tuple(int(n) for n in part) for part in (told.shape, told.strides))
        padding = getattr(told, "padding", "zero")
        return Box(array, (list(shape), list(strides), list(told.block_shape), padding))
    if isinstance(argument.value, JITFunction):
        sources.function(argument.value, argument.value.__name__)
    literal(argument.value)  # raises NotWritten now
    return argument.value


def _array(view: View, blocks: dict[int, tuple[int, Block]]) -> Array:
    storage = view.storage
    if storage is None:
        raise NotWritten(f"`{view.name}` has no memory")
    if storage.base not in blocks:
        blocks[storage.base] = len(blocks), _block(view)
    strides = tuple(s * view.itemsize for s in view.strides)
    text = dtype_text(np.dtype(view.dtype.numpy))
    return Array(
        blocks[storage.base][0], text, tuple(view.shape), strides, view.base - storage.base
    )


def _block(view: View) -> Block:
    """The whole storage, as elements of the view's type if it is made of such."""
    storage: Any = view.storage
    kind, values = np.dtype(view.dtype.numpy), storage.data.copy()
    if storage.nbytes % kind.itemsize == 0 == (view.base - storage.base) % kind.itemsize:
        values = values.view(kind)
    return Block(values, storage.base % ALIGNMENT)


def loaded(script: str) -> dict[str, Any]:
    """The names of a script; its lines can be shown in messages."""
    name = f"<repro {zlib.crc32(script.encode()):08x}>"
    linecache.cache[name] = (len(script), None, script.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "repro", "__file__": name}
    exec(compile(script, name, "exec"), names)
    return names


__all__ = ["Array", "Block", "Box", "Case", "case_of", "loaded", "taken", "turns"]
