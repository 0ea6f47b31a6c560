"""What solvers are compared with: exponax, and finite differences in C; each a way to go `steps` steps on, or a reason."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from math import exp
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from driftnet.pdes.allen_cahn import react
from driftnet.pdes.grid import resample, to_field

Run = Callable[[], None]
Show = Callable[[], Tensor]
SOURCE = Path(__file__).with_name("differences.c")
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")  # Else no square root is vectorised.


class Missing(Exception):
    """Why there is nothing to compare with."""


@dataclass(frozen=True)
class Problem:
    """Initial fields, and a solver whose `advance` takes `steps` time steps."""

    equation: Any
    solver: Any
    initial: Float[Tensor, "b c x y"]
    steps: int
    dt: float


def exponax(problem: Problem) -> tuple[Run, Show]:
    """ETDRK2 of exponax, the same equation, mask and time step: one compiled loop that stays in Fourier space."""
    if find_spec("exponax") is None:
        raise Missing("exponax is not installed (the extra 'oracles' brings it)")
    import jax
    from exponax.stepper import KolmogorovFlowVorticity

    equation, solver = problem.equation, problem.solver
    given = {"diffusivity": equation.viscosity, "drag": equation.drag, "dealiasing_fraction": equation.dealiasing}
    force = {"injection_mode": equation.forcing_mode, "injection_scale": equation.forcing}
    grid = solver.grid
    stepper = KolmogorovFlowVorticity(2, grid.length, grid.size, problem.dt, order=2, **given, **force)
    step, points = jax.vmap(stepper.step_fourier), grid.size**2  # Its coefficients are sums and not means.
    advance = jax.jit(lambda state: jax.lax.fori_loop(0, problem.steps, lambda _, now: step(now), state))
    start = jax.numpy.asarray(solver.start(problem.initial).numpy()) * points

    def show() -> Tensor:
        return to_field(torch.tensor(advance(start).__array__()) / points, grid.size)

    return lambda: advance(start).block_until_ready(), show


def compiled() -> ctypes.CDLL:
    """The finite differences, compiled here and now."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise Missing("there is no C compiler")
    with tempfile.TemporaryDirectory(prefix="driftnet-bench-") as folder:
        library = Path(folder) / "differences.so"
        made = subprocess.run([compiler, *FLAGS, str(SOURCE), "-o", str(library), "-lm"], capture_output=True, text=True)
        if made.returncode:
            raise Missing(f"{compiler} failed: {made.stderr.strip().splitlines()[-1]}")
        return ctypes.CDLL(str(library))


def wave(problem: Problem) -> tuple[Run, Show]:
    """The same scheme on the same grid, its absorbing layer included."""
    kernel, solver = compiled().wave, problem.solver
    state = solver.start(problem.initial)
    now, before, scale = (_bordered(field) for field in (state.now, state.before, state.scale))
    damping = _bordered(solver.damping)
    room, size = torch.empty_like(damping), damping.shape[-1] - 4

    def run() -> None:
        places = [_address(now), _address(before)]
        for _ in range(problem.steps):
            kernel(*places, *map(_address, (scale, damping, room)), len(now), size)
            places.reverse()

    def show() -> Tensor:
        run()
        inside = slice(2 + solver.layer, -2 - solver.layer)
        return (before if problem.steps % 2 else now)[..., inside, inside]

    return run, show


def allen_cahn(problem: Problem, finer: int = 1) -> tuple[Run, Show]:
    """The same splitting with differences of fourth order in space, second in time, in place of exact diffusion.

    On `finer` times the points along each axis.
    """
    kernel, grid = compiled().allen_cahn, problem.solver.grid
    half, size = exp(-problem.dt * problem.equation.rate**2), finer * grid.size
    state = _bordered(react(resample(problem.initial, size), half))
    room = torch.empty_like(state[:1])
    rate = ctypes.c_float(problem.dt * (size / grid.length) ** 2)
    decays = [half**2] * (problem.steps - 1) + [half]

    def run() -> None:
        for decay in decays:
            kernel(_address(state), _address(room), len(state), size, rate, ctypes.c_float(decay))

    def show() -> Tensor:
        run()
        return state[..., 2:-2:finer, 2:-2:finer]

    return run, show


def _bordered(field: Float[Tensor, "*b x y"]) -> Float[Tensor, "*b wide tall"]:
    return F.pad(field, (2, 2, 2, 2)).contiguous()


def _address(field: Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(field.data_ptr())
