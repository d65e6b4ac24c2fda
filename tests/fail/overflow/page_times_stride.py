"""A page number, loaded as int32, times the page stride."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def read_page(table_ptr, pages_ptr, out_ptr, page_stride, BLOCK: tl.constexpr):
    page = tl.load(table_ptr + tl.program_id(0))
    offs = tl.arange(0, BLOCK)
    x = tl.load(pages_ptr + page * page_stride + offs)
    #~^ ERROR: a wrapped integer is used as an offset
    tl.store(out_ptr + tl.program_id(0) * BLOCK + offs, x)


pages = np.empty((40000, 64, 1024), np.int8)
pages[3] = 1
read_page[(2,)](np.array([3, 39999], np.int32), pages, np.zeros(128, np.int8), 65536, BLOCK=64)
