"""Float64 shadows: what a kernel would compute without rounding, beside what it computes.

`rules` is the arithmetic of shadows, `memory` keeps them in memory, `tally` compares, `grid` and
`follow` carry them on the grid machine and on the step machine, `records` is what comes of it.
"""
