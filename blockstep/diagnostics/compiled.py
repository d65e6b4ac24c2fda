"""Wording of what compiled code did on the ptx machine."""

from __future__ import annotations

from blockstep.diagnostics.words import Words, kept, plural, who
from blockstep.findings import MachineFault, Party

_TITLES = {
    "out-of-bounds": "the compiled kernel reaches outside of {what}",
    "alignment": "the compiled kernel touches {what} at an address that its access does not allow",
    "uninitialised": "the compiled kernel uses {what} that nothing has written",
    "race": "two threads of the compiled kernel touch the same bytes of shared memory: {what}",
    "barrier": "a barrier of the compiled kernel is not reached by all threads: {what}",
    "async": "the compiled kernel does not wait for what is under way: {what}",
    "deadlock": "the compiled kernel waits for ever: {what}",
    "assert": "the compiled kernel stopped: {what}",
    "trap": "the compiled kernel stopped: {what}",
}

# Cases with a title of their own, by a part of what is told.
_CASES = {
    "another argument": "the compiled kernel reaches {what} than the address was made from",
    "unfenced": "the compiled kernel lacks a fence.proxy.async: {what}",
    "setting up": "the compiled kernel uses {what}",
    "a CTA ends": "the compiled kernel does not wait for what is under way: {what}",
    "another thread": "two threads of the compiled kernel touch shared memory, unordered: {what}",
}
# What mends a case, by a part of what is told; the first that fits.
_HELP = {
    "a register": "wgmma.wait_group before the sums are used",
    "behind a barrier": "a barrier after the wait: the thread that waited is the only one that knows",
    "of another thread reads": "a barrier after the wait: only the thread that waited knows",
    "still reads": "wait first (wgmma.wait_group, cp.async.bulk.wait_group.read), then a barrier",
    "not waited for": "wait first (cp.async.wait_group, or the phase of the mbarrier); a barrier before "
    "others read",
    "nothing has waited": "cp.async.bulk.wait_group (without .read) first, then a barrier",
    "no barrier is behind": "a barrier after the wait: only the thread that waited knows",
    "copy engine writes begins": "let lanes write such a box, with ordinary stores or atomics",
    "unfenced": "fence.proxy.async by the threads that wrote, before the barrier",
    "setting up": "a barrier after mbarrier.init; for other CTAs fence.mbarrier_init.release.cluster and "
    "the barrier of the cluster",
    "ends while": "wait before the end: cp.async.bulk.wait_group.read 0, or the phase of the mbarrier",
    "another thread": "a barrier between the two: bar.sync, or bar.warp.sync for lanes of a warp",
}
_LANES = 32


def _first(table: dict[str, str], what: str) -> str:
    return next((text for part, text in table.items() if part in what), "")


def _thread(number: int) -> str:
    """thread 37 (warp 1, lane 5)."""
    return f"thread {number} (warp {number // _LANES}, lane {number % _LANES})"


def machine_fault(event: MachineFault) -> Words:
    """One fault, with the instruction that it is of."""
    lanes = f"; {plural(event.count, 'thread')} in all" if event.count > 1 else ""
    parties: tuple[Party, ...] = ()
    if event.other is not None:
        other = f"{_thread(event.other_thread)}: " if event.other_thread is not None else ""
        label = f"{other}PTX line {event.other_line}: {event.other_text}"
        parties = (Party(label, event.other),)
    return Words(
        message=(_first(_CASES, event.what) or _TITLES[event.fault]).format(what=event.what),
        label=f"PTX line {event.line}: {event.text}",
        facts=kept(who(event, f"{_thread(event.thread)} of its CTA{lanes}")),
        help=kept(_first(_HELP, event.what)),
        related=parties,
        details={"event": f"{event.what} at {event.line}", "ptx": event.text},
    )
