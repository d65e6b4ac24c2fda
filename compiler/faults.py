"""What compiled code and the host agree on besides the kernel's own parameters: the record that a
failed `device_assert` leaves, and scratch memory."""

SCRATCH = "$scratch"
"""The name of the hidden parameter of a kernel that needs scratch memory: the address (a pointer, a
multiple of 128 bytes) of so many bytes for each CTA of the grid."""

FAULTS = "$faults"
"""The name of the hidden last parameter of a kernel with `device_assert`: the address (a pointer)
of its context's fault record, laid out as `RECORD`."""

RECORD = ("flag", "site", "x", "y", "z", "element")
"""The int32 fields of a record, in order. `flag` is 0, or 1 once a lane has failed; `site` indexes
the kernel's sites; x, y, z is the program instance; `element` is the element of the condition's
block, -1 for a scalar condition."""
