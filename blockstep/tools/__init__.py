"""`triton.tools`: descriptors on the host side, microscaling number formats, ragged arrays.

The tools that read or link machine code need a compiler and say so.
"""
