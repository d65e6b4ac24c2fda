"""Modules that exist only under the name `triton`: host-side names that libraries import.

Each answers from our own parts or says clearly what is missing; none has any meaning of the
language in it. `blockstep.runtime.redirect` has the table of which name leads to which module.
"""
