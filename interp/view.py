"""`View`: an argument as a part of a storage, and what a launch says about the rest.

Invariant: a view decides bounds, a storage does not: memory beside the view is outside, even where
it is the caller's own. Whether going there is a bug or a doubt is `View.explanation`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from blockstep.interp.footprint import Flags, Footprint

if TYPE_CHECKING:
    from blockstep.findings import Span
    from blockstep.interp.memory import Storage


class Launch(Protocol):
    """What `View.explained` wants to know of a launch: `AddressSpace` has it."""

    @property
    def views(self) -> Sequence[View]:
        """Every array argument."""

    @property
    def integers(self) -> Mapping[str, int]:
        """Every integer argument by name."""


class View:
    """An argument: the part of a storage that was passed, and under which name."""

    __slots__ = (
        "_lost",
        "base",
        "dtype",
        "footprint",
        "itemsize",
        "name",
        "parent",
        "passed_at",
        "shape",
        "storage",
        "strides",
        "writeable",
    )

    def __init__(
        self,
        storage: Storage | None,
        name: str,
        dtype: Any,
        base: int,
        shape: Sequence[int],
        strides: Sequence[int],
        *,
        itemsize: int | None = None,
        byte_strides: Sequence[int] | None = None,
        writeable: bool = True,
        passed_at: Span | None = None,
    ) -> None:
        self.storage, self.name, self.dtype, self.base = storage, name, dtype, base
        self.shape, self.strides = tuple(shape), tuple(strides)  # strides count elements
        self.itemsize = itemsize if itemsize is not None else int(dtype.itemsize)
        steps = byte_strides if byte_strides is not None else [s * self.itemsize for s in strides]
        self.footprint = Footprint(base, self.shape, steps, self.itemsize)
        self.writeable, self.passed_at = writeable, passed_at
        self.parent: Footprint | None = None  # the array that this is a view of
        self._lost: frozenset[int] = frozenset()
        if storage is not None:
            storage.views.append(self)

    def follow(self, parent: Footprint, strides: Iterable[int]) -> None:
        """Say which array this is a view of, with its strides in elements."""
        self.parent = parent
        lost = frozenset(strides) - frozenset(self.strides) - {0}
        # Hardly any array keeps a step of 1 from its views: only one whose axis is made to stand still.
        still = any(n > 1 and s == 0 for n, s in zip(self.shape, self.strides, strict=True))
        self._lost = lost if still else lost - {1}

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def dense(self) -> bool:
        """Whether the bytes have no gaps: then `extent` decides everything."""
        return self.footprint.dense

    @property
    def type_text(self) -> str:
        """`float32[1000]`, with the strides where they are not those of a fresh array."""
        name = self.dtype.codegen_name() if hasattr(self.dtype, "codegen_name") else str(self.dtype)
        text = f"{name}[{', '.join(map(str, self.shape))}]"
        if self.strides == contiguous_strides(self.shape) or self.size <= 1:
            return text
        return f"{text} with strides {self.strides}"

    def __repr__(self) -> str:
        return f"View({self.name}: {self.type_text})"

    def extent(self) -> tuple[int, int]:
        """The first byte's address and the address after the last one."""
        return self.footprint.lo, self.footprint.hi

    def covers(self, lo: int, hi: int) -> bool:
        """Whether `[lo, hi)` is surely inside, at no cost. False decides nothing where gaps are."""
        return self.footprint.covers(lo, hi)

    def contains(self, addresses: Any, size: int | None = None) -> Flags:
        """For each address, whether its `size` bytes (default: an element's) are of the view."""
        return self.footprint.contains(addresses, self.itemsize if size is None else size)

    def element(self, address: int) -> tuple[int, ...]:
        """The multi-index of an address; beyond an edge, the index that would come there."""
        return self.footprint.element(int(address))

    def explained(self, addresses: Any, launch: Launch, size: int | None = None) -> Flags:
        """For addresses outside this view, whether the launch says that the kernel may go there."""
        return self.explanation(addresses, launch, size)[0]

    def explanation(
        self, addresses: Any, launch: Launch, size: int | None = None
    ) -> tuple[Flags, View | str | None]:
        """`explained`, and by whom: another argument, or the name of a stride that was passed.

        Another argument of the launch holds the bytes; or a number was passed that is a stride of
        the array behind this view and that the view itself no longer has (`qkv[0]` with the stride
        that leads to `qkv[1]`). A number that may as well be a length counts only under a stride's
        name. Where the array behind is not known (reshaped before it was indexed), a number under
        a stride's name counts if it could be one.
        """
        size = self.itemsize if size is None else size
        found: Flags = np.zeros(np.shape(addresses), bool)
        who: View | str | None = None
        for other in launch.views:
            if other is not self and other.storage is self.storage:
                inside = other.contains(addresses, size)
                who = who or (other if bool(inside.any()) else None)
                found = found | inside
        if self.storage is not None and not found.all():
            for name, reached in self._strides_passed(launch):
                inside = reached.contains(addresses, size)
                who = who or (name if bool(inside.any()) else None)
                found = found | inside
        return found, who

    def _strides_passed(self, launch: Launch) -> Iterator[tuple[str, Footprint]]:
        """Numbers that are strides which this view lost, with the memory that they open."""
        lengths = {n for view in launch.views for n in (*view.shape, view.size)}
        for name, value in launch.integers.items():
            named = looks_like_stride(name)
            told = named or (value > 1 and value not in lengths)
            if self.parent is not None and value in self._lost and told:
                yield name, self.parent
            elif named and self.storage is not None and self._may_be_stride(value):
                yield name, Footprint(self.storage.base, (self.storage.nbytes,), (1,), 1)

    def _may_be_stride(self, value: int) -> bool:
        """Whether this view can be a slice of an array with one more dimension of that stride."""
        known = self.parent is not None and self.parent.rank > len(self.shape)
        if known or value <= 1 or value in self.strides:
            return False
        moving = [(abs(s), n) for s, n in zip(self.strides, self.shape, strict=True) if s and n > 1]
        inside = 1 + sum(s * (n - 1) for s, n in moving if s < value)
        return inside <= value and all(s % value == 0 for s, _ in moving if s > value)


_STRIDE_NAME = re.compile(r"stride|pitch|(^|_)(ld|step|s)[a-z0-9]{0,2}($|_)", re.IGNORECASE)


def looks_like_stride(name: str) -> bool:
    """Whether a parameter's name says that it is a stride: `stride_am`, `x_stride`, `lda`."""
    return _STRIDE_NAME.search(name) is not None


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a fresh array."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
