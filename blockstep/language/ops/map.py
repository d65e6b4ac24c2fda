"""A function of scalars at every element of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.op import Family, define
from blockstep.language.region import Region, spread


def _mapped(*xs: ty.dtype, region: Region, pack: int = 1) -> Any:
    found = tuple(ty.blocked(t, xs[0].shape) for t in region.types[::pack])
    return found if len(found) > 1 else found[0]


def _map(*xs: Any, region: Region) -> Any:
    shape = np.broadcast_shapes(*map(np.shape, xs))
    found = [v if np.shape(v) == shape else np.broadcast_to(v, shape) for v in region.apply(*xs)]
    return tuple(found) if len(found) > 1 else found[0]


MAP = define(
    "map",
    Family.ELEMENTWISE,
    _mapped,
    _map,
    "`n, … -> n, …`: a region at every element.",
)


def _map_packed(*xs: Any, region: Region, pack: int) -> Any:
    groups = [np.reshape(x, (*np.shape(x)[:-1], -1, pack)) for x in xs]
    arguments = [g[..., lane] for g in groups for lane in range(pack)]
    values = [spread(v, arguments[0]) for v in region.apply(*arguments)]
    packed = [np.stack(values[i : i + pack], axis=-1) for i in range(0, len(values), pack)]
    found = tuple(np.reshape(v, np.shape(xs[0])) for v in packed)
    return found if len(found) > 1 else found[0]


MAP_PACKED = define(
    "map_packed",
    Family.MIX,
    _mapped,
    _map_packed,
    "`n, … -> n, …`: a region at every group of `pack` neighbours of 1-D blocks.",
)
