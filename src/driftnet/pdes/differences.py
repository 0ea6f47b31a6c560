"""Finite differences of fourth order on periodic fields."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

CURVATURE = 3 / 4  # Bordered.curvature is this share of the Laplacian.
FAR, CENTRE = -1 / 16, -15 / 4  # Its factors of the points two away and of the point itself; those of the nearest are 1.


class Bordered:
    """A field that continues for two points beyond its edges, and room for its differences.

    Views are made once: on small fields, making them takes as long as the sums.
    """

    def __init__(self, field: Float[Tensor, "b 1 x y"], room: Bordered | None = None) -> None:
        """`room` is another whose differences are no longer needed when those of this field are asked for."""
        height, width = field.shape[-2:]
        self.wide = wide = field.new_empty((*field.shape[:-2], height + 4, width + 4))
        self.inside = wide[..., 2:-2, 2:-2]
        self.inside.copy_(field)
        self.border = (
            (wide[..., :2, :], wide[..., -4:-2, :]),
            (wide[..., -2:, :], wide[..., 2:4, :]),
            (wide[..., :2], wide[..., -4:-2]),
            (wide[..., -2:], wide[..., 2:4]),
        )
        self.near_ends, self.far_ends = (wide[..., 1:-2, 1:-2], wide[..., 2:-1, 2:-1]), (wide[..., :-2, :-2], wide[..., 2:, 2:])
        self.sums = field.new_empty((*field.shape[:-2], height + 2, width + 2)) if room is None else room.sums
        self.total = torch.empty_like(field).contiguous() if room is None else room.total
        self.near = self.sums[..., :-1, :-1]
        self.near_pairs = self.near[..., :-1, 1:], self.near[..., 1:, :-1]
        self.far_pairs = self.sums[..., :-2, 2:], self.sums[..., 2:, :-2]

    def curvature(self) -> Float[Tensor, "b 1 x y"]:
        """3/4 of the Laplacian in units of the spacing squared; the next call writes over it."""
        for outside, source in self.border:
            outside.copy_(source)
        # Sums of two points on a diagonal: two of them make the four neighbours of a point, so each serves twice.
        torch.add(*self.near_ends, out=self.near)
        total = torch.add(*self.near_pairs, out=self.total)
        torch.add(*self.far_ends, out=self.sums)
        total.add_(self.far_pairs[0], alpha=FAR).add_(self.far_pairs[1], alpha=FAR)
        return total.add_(self.inside, alpha=CENTRE)
