"""Where the elements of a block lie: a linear map over F2 from holders to elements.

A holder is a (register, lane, warp, cta). All block dimensions are powers of two, so an element is
its flat row-major index, a number of log2(numel) bits, and a layout is given by its bases: the
element that each single bit of a holder stands for. The element of a holder is the XOR of the
bases of its set bits. A zero basis means copies: holders that differ in that bit alone hold the
same element.

Invariant: every basis lies in the block, and every element has a holder. A block in shared memory
is such a map too, of addresses in place of holders, and one to one. The algebra on layouts is in
blockstep/compiler/layouts/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

LANE_BITS = 5


def xor(bases: Iterable[int], bits: int) -> int:
    """The image of a number: the XOR of the bases of its set bits."""
    image = 0
    for position, basis in enumerate(bases):
        if bits >> position & 1:
            image ^= basis
    return image


def images(bases: Iterable[int]) -> list[int]:
    """The images of all numbers, in order: `images(bases)[n] == xor(bases, n)`."""
    found = [0]
    for basis in bases:
        found += [image ^ basis for image in found]
    return found


def rank(bases: Iterable[int]) -> int:
    """How many of the bases are linearly independent over F2."""
    leading: dict[int, int] = {}
    for basis in bases:
        while basis and basis.bit_length() in leading:
            basis ^= leading[basis.bit_length()]
        if basis:
            leading[basis.bit_length()] = basis
    return len(leading)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which element of a block each register of each lane of each warp holds.

    Raises ValueError for dimensions that are no powers of two, bases outside the block, other
    than five lane bases, and maps that leave elements without a holder."""

    shape: tuple[int, ...]
    registers: tuple[int, ...]
    """The element of register 1, 2, 4, …: one lane holds 2**len(registers) elements."""
    lanes: tuple[int, ...]
    """The element of lane 1, 2, 4, 8, 16."""
    warps: tuple[int, ...]
    """The element of warp 1, 2, 4, …: log2(num_warps) bases."""
    ctas: tuple[int, ...] = ()
    """The element of CTA 1, 2, 4, … of the cluster: log2(num_ctas) bases, mostly none."""

    def __post_init__(self) -> None:
        for length in self.shape:
            if length < 1 or length & (length - 1):
                raise ValueError(
                    f"a block of shape {self.shape} has a length that is no power of two"
                )
        if len(self.lanes) != LANE_BITS:
            raise ValueError(f"a warp has 32 lanes: 5 lane bases, not {len(self.lanes)}")
        outside = [basis for basis in self.bases if not 0 <= basis < self.numel]
        if outside:
            raise ValueError(f"basis {outside[0]} lies outside a block of {self.numel} elements")
        reached = rank(self.bases)
        if 1 << reached != self.numel:
            raise ValueError(f"only {1 << reached} of {self.numel} elements have a holder")

    @property
    def bases(self) -> tuple[int, ...]:
        """All bases: registers, lanes, warps, ctas."""
        return self.registers + self.lanes + self.warps + self.ctas

    @property
    def numel(self) -> int:
        """Number of elements of the block."""
        return prod(self.shape)

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def per_lane(self) -> int:
        """Number of registers of one lane, copies included."""
        return 1 << len(self.registers)

    @property
    def num_warps(self) -> int:
        return 1 << len(self.warps)

    @property
    def num_ctas(self) -> int:
        return 1 << len(self.ctas)

    def element(self, register: int, lane: int, warp: int, cta: int = 0) -> int:
        """The flat row-major index of the element that this holder holds."""
        return (
            xor(self.registers, register)
            ^ xor(self.lanes, lane)
            ^ xor(self.warps, warp)
            ^ xor(self.ctas, cta)
        )

    def _repr_html_(self) -> str:
        from blockstep.page.layouts import of_layout

        return of_layout(self)

    def __str__(self) -> str:
        """One line, which `parse` reads: `layout<64x32; r=1,2; l=4,8,16,32,64; w=128,256>`."""
        shape = "x".join(map(str, self.shape)) or "scalar"
        parts = [shape, _listed("r", self.registers), _listed("l", self.lanes)]
        parts.append(_listed("w", self.warps))
        if self.ctas:
            parts.append(_listed("c", self.ctas))
        return f"layout<{'; '.join(parts)}>"

    @staticmethod
    def parse(text: str) -> Layout:
        """The layout that `str` wrote. Raises ValueError for any other text."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"not a layout: {text!r}")
        return Layout(
            _shape(match["shape"]),
            _numbers(match["r"]),
            _numbers(match["l"]),
            _numbers(match["w"]),
            _numbers(match["c"] or ""),
        )


@dataclass(frozen=True)
class SharedLayout:
    """Which element lies at each address of shared memory, both counted in elements.

    Raises ValueError unless every element has exactly one address."""

    shape: tuple[int, ...]
    elements: tuple[int, ...]
    """The element at address 1, 2, 4, …"""

    def __post_init__(self) -> None:
        count, bits = prod(self.shape), len(self.elements)
        if (
            count != 1 << bits
            or rank(self.elements) != bits
            or max(self.elements, default=0) >= count
        ):
            raise ValueError(f"{self.elements} gives not each of {count} elements one address")

    @cached_property
    def addresses(self) -> tuple[int, ...]:
        """The address of element 1, 2, 4, …: the inverse of `elements`."""
        return _inverse(self.elements)

    def element(self, address: int) -> int:
        """The flat index of the element at an address."""
        return xor(self.elements, address)

    def address(self, element: int) -> int:
        """The address of an element, given its flat index."""
        return xor(self.addresses, element)

    def permuted(self, dims: Sequence[int]) -> SharedLayout:
        """The same addresses of the block whose axis `i` is axis `dims[i]` of this one."""
        shape = tuple([self.shape[axis] for axis in dims])

        def there(element: int) -> int:
            index = 0
            for axis in dims:
                below = prod(self.shape[axis + 1 :])
                index = index * self.shape[axis] + element // below % self.shape[axis]
            return index

        return SharedLayout(shape, tuple(map(there, self.elements)))

    def _repr_html_(self) -> str:
        from blockstep.page.layouts import of_shared

        return of_shared(self)

    def __str__(self) -> str:
        """One line, which `parse` reads: `shared<8x4; 1,2,4,8,16>`."""
        shape = "x".join(map(str, self.shape)) or "scalar"
        return f"shared<{shape}; {','.join(map(str, self.elements))}>"

    @staticmethod
    def parse(text: str) -> SharedLayout:
        """The layout that `str` wrote. Raises ValueError for any other text."""
        match = _SHARED_TEXT.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"not a layout of shared memory: {text!r}")
        return SharedLayout(_shape(match["shape"]), _numbers(match["elements"]))


def _inverse(images: Sequence[int]) -> tuple[int, ...]:
    """The inverse of a map that is one to one, by elimination."""
    rows = [(image, 1 << bit) for bit, image in enumerate(images)]
    for bit in range(len(rows)):
        pivot = next(i for i in range(bit, len(rows)) if rows[i][0] >> bit & 1)
        rows[bit], rows[pivot] = rows[pivot], rows[bit]
        image, made_of = rows[bit]
        rows = [
            (row ^ image, parts ^ made_of) if i != bit and row >> bit & 1 else (row, parts)
            for i, (row, parts) in enumerate(rows)
        ]
    return tuple(made_of for _, made_of in rows)


_TEXT = re.compile(
    r"layout<(?P<shape>scalar|\d+(?:x\d+)*); r=(?P<r>[\d,]*); l=(?P<l>[\d,]*); w=(?P<w>[\d,]*)"
    r"(?:; c=(?P<c>[\d,]+))?>"
)
_SHARED_TEXT = re.compile(r"shared<(?P<shape>scalar|\d+(?:x\d+)*); (?P<elements>[\d,]*)>")


def _shape(text: str) -> tuple[int, ...]:
    return () if text == "scalar" else tuple(map(int, text.split("x")))


def _listed(letter: str, bases: tuple[int, ...]) -> str:
    return f"{letter}={','.join(map(str, bases))}"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()
