"""Which program instance wrote an element, from what; who touched it; and whose memory is whose.

Each question is answered by running the launch once more, from its beginning and under a seed, with
memory as it was before; when the answer is there, memory is put back as it was found. Nothing of a
debugging session is touched, but it must not run meanwhile.
"""

from blockstep.debugger.blame.asking import accesses, blame
from blockstep.debugger.blame.export import as_json
from blockstep.debugger.blame.mapping import memory_map, writers
from blockstep.debugger.blame.variables import blame_value

__all__ = ["accesses", "as_json", "blame", "blame_value", "memory_map", "writers"]
