"""The wave equation by finite differences of fourth order in space and time, in a layer that absorbs waves."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from driftnet.errors import DriftnetError
from driftnet.pdes.differences import CURVATURE, Bordered
from driftnet.pdes.grid import Grid
from driftnet.pdes.solver import Solver, refuse_not_finite
from driftnet.tasks.equations import Wave

STABLE_COURANT = 0.8  # c dt / dx; the scheme blows up beyond 1.06 where c is constant.
USUAL_COURANT = 0.7
SPONGE_SPEED = 2500.0  # The unit of Wave.absorption.


class WaveState(NamedTuple):
    """Displacement now and a time step earlier, on the grid with its absorbing layer, and the medium."""

    now: Float[Tensor, "b 1 wide tall"]
    before: Float[Tensor, "b 1 wide tall"]
    scale: Float[Tensor, "b 1 wide tall"]
    """(c dt / dx)^2."""
    speed: Float[Tensor, "b 1 x y"]


class WaveSolver(Solver[WaveState]):
    """Displacement (channel 0) in a medium of given speed (channel 1)."""

    def __init__(self, equation: Wave, grid: Grid, interval: float) -> None:
        super().__init__(grid)
        absorbing = equation.boundary == "absorbing"
        self.spacing = grid.length / (grid.size - 1 if absorbing else grid.size)
        self.layer = ceil(equation.sponge * grid.size) if absorbing else 0
        self.substeps = equation.substeps or ceil(interval * equation.fastest / (self.spacing * USUAL_COURANT))
        self.dt = interval / self.substeps
        depth = self._depth()
        rate = equation.absorption * SPONGE_SPEED / (equation.sponge * grid.length) * depth**2
        self.damping = rate * self.dt / 2
        self.fade = torch.cos(depth * torch.pi / 2) ** 2

    def _depth(self) -> Float[Tensor, "wide tall"]:
        """How deep a point lies in the layer: 0 in the domain, 1 at the outer edge."""
        size, layer = self.grid.size, self.layer
        place = torch.arange(-layer, size + layer, dtype=self.grid.dtype, device=self.grid.device)
        depth = torch.maximum(-place, place - (size - 1)).clamp(min=0) / max(layer, 1)
        return torch.maximum(depth[:, None], depth[None, :])

    def start(self, initial: Float[Tensor, "b 2 x y"]) -> WaveState:
        """At rest: a step back in time leads to where a step forward does."""
        wide = F.pad(initial, (self.layer,) * 4, mode="replicate")
        now, scale = wide[:, :1] * self.fade, (wide[:, 1:] * (self.dt / self.spacing)).square()
        self._require_stable(initial[:, 1:])
        return WaveState(now, now + push(now, scale) / 2, scale, initial[:, 1:])

    def advance(self, state: WaveState) -> WaveState:
        """The state at the next snapshot."""
        now = Bordered(state.now)
        before, twice = Bordered(state.before, now), Bordered(state.now, now)
        # (1 + d) ahead = 2 now - (1 - d) before + push, d the damping: the place of `before` takes what is ahead.
        forward = 2 / (1 + self.damping)
        pull = state.scale * (forward / 2 / CURVATURE)
        for _ in range(self.substeps):
            corrected = correct(now, state.scale, twice)
            before.inside.lerp_(now.inside, forward).addcmul_(pull, corrected.curvature())
            now, before = before, now
        return state._replace(now=now.inside.clone(), before=before.inside.clone())

    def fields(self, state: WaveState) -> Float[Tensor, "b 2 x y"]:
        """Displacement and speed within the domain."""
        inside = slice(self.layer, self.layer + self.grid.size)
        return torch.cat((state.now[..., inside, inside], state.speed), 1)

    def _require_stable(self, speed: Float[Tensor, "b 1 x y"]) -> None:
        fastest = speed.abs().amax().item()
        courant = fastest * self.dt / self.spacing
        if not courant <= STABLE_COURANT:  # Also true where the speed is not a number.
            raise DriftnetError(
                f"the time step is too long: the largest speed is {fastest:.4g}, and c dt / dx = {courant:.3g} is above "
                f"{STABLE_COURANT} on {self.grid.size} points with {self.substeps} substeps; set a larger equation.substeps"
            )

    def guard(self, fields: Float[Tensor, "b c x y"], index: int) -> None:
        """Refuse what is not a number."""
        refuse_not_finite(fields, index)


def push(u: Float[Tensor, "b 1 x y"], scale: Float[Tensor, "b 1 x y"]) -> Float[Tensor, "b 1 x y"]:
    """u(t + dt) - 2 u(t) + u(t - dt) to fourth order: dt^2 A u + dt^4 / 12 A A u with A = c^2 Lap."""
    field = Bordered(u)
    return scale * correct(field, scale, Bordered(u, field)).curvature() / CURVATURE


def correct(u: Bordered, scale: Float[Tensor, "b 1 x y"], room: Bordered) -> Bordered:
    """In `room`, u + dt^2 / 12 A u: its push to second order is that of u to fourth."""
    torch.addcmul(u.inside, scale, u.curvature(), value=1 / 12 / CURVATURE, out=room.inside)
    return room


def laplacian(u: Float[Tensor, "b 1 x y"]) -> Float[Tensor, "b 1 x y"]:
    """Five-point differences of fourth order along both axes, periodic, in units of the spacing squared."""
    return Bordered(u).curvature() / CURVATURE
