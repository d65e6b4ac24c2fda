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


def machine_fault(event: MachineFault) -> Words:
    """One fault, with the instruction that it is of."""
    lanes = f"; {plural(event.count, 'thread')} in all" if event.count > 1 else ""
    parties: tuple[Party, ...] = ()
    if event.other is not None:
        other = f"thread {event.other_thread}: " if event.other_thread is not None else ""
        label = f"{other}PTX line {event.other_line}: {event.other_text}"
        parties = (Party(label, event.other),)
    return Words(
        message=_TITLES[event.fault].format(what=event.what),
        label=f"PTX line {event.line}: {event.text}",
        facts=kept(who(event, f"thread {event.thread} of its CTA{lanes}")),
        related=parties,
        details={"event": f"{event.what} at {event.line}", "ptx": event.text},
    )
