"""`Chains`: sets of epochs that cost one number a cell.

A chain is a node (parent, epoch) of a tree that only grows; 0 is the empty chain. Cells that were
read by the same instances in the same order share one node, so the readers of an array that every
instance reads whole are one list, however long the array. Nothing is summarised: the full set can
be read off a node.

Invariant: adding an epoch drops another one only where the new one implies it: the same lanes of
the same instance, later, and no weaker.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from blockstep.interp.clocks import Clocks, Epoch, Instance


class Chains:
    """The tree of one launch, and the epochs that its nodes name."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.epochs = clocks.epochs
        self._parent = array("i", [0])
        self._epoch = array("i", [0])

    def add(self, chain: int, e: Epoch) -> int:
        """The chain with `e` in it."""
        memo = e.memo
        if memo is None:
            memo = e.memo = {}
        known = memo.get(chain)
        if known is None:
            known = memo[chain] = self._add(chain, e)
        return known

    def _add(self, chain: int, e: Epoch) -> int:
        parent = chain
        while parent:
            head = self.epochs[self._epoch[parent]]
            if head is e:
                return parent
            if head is None or not _implies(e, head):
                break
            parent = self._parent[parent]
        self._parent.append(parent)
        self._epoch.append(e.number)
        return len(self._parent) - 1

    def members(self, chain: int) -> Iterator[Epoch]:
        """The epochs, the latest first."""
        while chain:
            e = self.epochs[self._epoch[chain]]
            if e is not None:
                yield e
            chain = self._parent[chain]

    def unordered(self, chain: int, p: Instance, writing: bool) -> Epoch | None:
        """An epoch that what `p` does next conflicts with: any if `p` writes, else a write."""
        clean = p.clean_writes if writing else p.clean_reads
        walked = []
        while chain and chain not in clean:
            e = self.epochs[self._epoch[chain]]
            if e is not None and (writing or e.writes) and not self.clocks.ordered(p, e):
                return e
            walked.append(chain)
            chain = self._parent[chain]
        clean.update(walked)
        return None


def _implies(new: Epoch, old: Epoch) -> bool:
    """Whether who is ordered after `new` is after `old`, and conflicts with `new` if with `old`."""
    return (
        new.instance is old.instance
        and new.stream == old.stream
        and new.size == old.size
        and (new.writes or not old.writes)
        and (new.narrow or not old.narrow)
    )
