"""Microscaling formats on the host: E2M1 elements and E8M0 scales as PyTorch tensors of codes.

`data` holds one code a byte. E2M1 has a sign, two exponent bits and one mantissa bit: the
magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6, no Inf and no NaN. E8M0 is a power of two, 2^(code - 127),
and 255 is NaN. Source: OCP Microscaling Formats specification 1.0, sections 5.3.3 and 5.4.1.
"""

from __future__ import annotations

import math
from typing import Any, Self

E2M1_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
E2M1_LARGEST = 7
E8M0_BIAS = 127
E8M0_LARGEST = 254
E8M0_NAN = 255


def _size(size: Any) -> tuple[int, ...]:
    return size if isinstance(size, tuple) else (size,)


class _Codes:
    """A tensor of codes, from values or of a size that `random` fills."""

    data: Any
    size: tuple[int, ...]

    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        import torch

        self.device = device
        if data is not None:
            if not isinstance(data, torch.Tensor):
                raise TypeError("data is a torch tensor of values")
            self.device = data.device
            self.data = self._from_float(data)
        elif size is not None:
            self.size = _size(size)
        else:
            raise ValueError("Either parameter data or size must be provided")

    def _from_float(self, values: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no conversion from values")

    def _draw(self, low: int, high: int) -> Any:
        """Random codes, `low` and `high` included."""
        import torch

        return torch.randint(low, high + 1, size=self.size, dtype=torch.uint8, device=self.device)


class MXFP4Tensor(_Codes):
    """E2M1 elements."""

    def random(self) -> Self:
        """Fill with random codes: all sixteen are numbers."""
        self.data = self._draw(0, 15)
        return self

    def to(self, dtype: Any) -> Any:
        """The values, as float32."""
        import torch

        if dtype != torch.float32:
            raise TypeError(f"E2M1 converts to float32 only, not {dtype}")
        table = torch.tensor(
            [*E2M1_MAGNITUDES, *(-m for m in E2M1_MAGNITUDES)], device=self.data.device
        )
        return table[self.data.long()]

    def _from_float(self, values: Any) -> Any:
        """Nearest code, ties to the even one; beyond 6, Inf and NaN give 6 with the sign of the
        value."""
        import torch

        codes = torch.zeros(values.shape, dtype=torch.uint8, device=values.device)
        size = values.abs()
        for code in range(1, E2M1_LARGEST + 1):
            middle = (E2M1_MAGNITUDES[code - 1] + E2M1_MAGNITUDES[code]) / 2
            codes += (size >= middle) if code % 2 == 0 else (size > middle)
        codes[torch.isnan(values)] = E2M1_LARGEST
        return codes | (torch.signbit(values).to(torch.uint8) << 3)

    def to_packed_tensor(self, dim: int) -> Any:
        """Two elements a byte along `dim`, the first in the low half; an odd end is filled with
        zero."""
        import torch

        rank = self.data.ndim
        if not 0 <= dim < rank:
            raise AssertionError(f"there is no dimension {dim} to pack along: the rank is {rank}")
        moved = self.data.movedim(dim, -1)
        if moved.shape[-1] % 2:
            moved = torch.nn.functional.pad(moved, (0, 1))
        packed = moved[..., 0::2] | (moved[..., 1::2] << 4)
        return packed.movedim(-1, dim).contiguous()

    def unpack_packed_tensor(self, packed_tensor: Any, dim: int, original_shape: Any) -> Any:
        """The codes of `original_shape` that were packed along `dim`."""
        import torch

        moved = packed_tensor.movedim(dim, -1)
        pairs = torch.stack((moved & 0xF, moved >> 4), dim=-1).flatten(-2)
        codes = pairs[..., : original_shape[dim]].movedim(-1, dim)
        return codes.contiguous().to(torch.uint8)


class MXScaleTensor(_Codes):
    """E8M0 scales."""

    def random(self, low: float | None = None, high: float | None = None) -> Self:
        """Fill with random powers of two from `low` to `high`, never NaN."""
        first = 0 if low is None else max(0, int(math.log2(low)) + E8M0_BIAS)
        last = (
            E8M0_LARGEST
            if high is None
            else min(E8M0_LARGEST, max(0, int(math.log2(high)) + E8M0_BIAS))
        )
        if first > last:
            raise ValueError("Low must be less than or equal to high")
        self.data = self._draw(first, last)
        return self

    def to(self, dtype: Any) -> Any:
        """The values, as float32."""
        import torch

        if dtype != torch.float32:
            raise TypeError(f"E8M0 converts to float32 only, not {dtype}")
        values = torch.exp2(self.data.to(torch.float64) - E8M0_BIAS).to(torch.float32)
        values[self.data == E8M0_NAN] = torch.nan
        return values

    def _from_float(self, values: Any) -> Any:
        """Largest power of two not above the value; NaN for what is not positive and finite."""
        import torch

        usable = torch.isfinite(values) & (values > 0)
        _, exponent = torch.frexp(torch.where(usable, values, 1.0))
        codes = (exponent - 1 + E8M0_BIAS).clamp(0, E8M0_LARGEST).to(torch.uint8)
        codes[~usable] = E8M0_NAN
        return codes
