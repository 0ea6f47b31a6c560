"""What appendices A and B say of trained runs, beside what is measured, run by run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, nan, prod
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from driftnet.configs import Loss
from driftnet.data.pairs import Batch, Pairs, order_of
from driftnet.data.sources import Disk
from driftnet.data.trajectories import Trajectories
from driftnet.metrics.sobolev import defect, defect_bound, printed_defect_bound, sobolev_loss
from driftnet.models.backbone import Block, MultiScale
from driftnet.models.bounds import Bounds, lemma
from driftnet.models.mixers.drift import Drift
from driftnet.models.operator import Normalized
from driftnet.models.saved import describe, load, recipe_of
from driftnet.models.sensitivity import ITERATIONS, Visit, jacobian_norm, visit

STATES = 2  # Enough to see how a gain depends on the state, few enough to answer in seconds.
COLUMNS = ("lemma", "bound", "measured")
LEGEND = f"""\
Lipschitz constants in the Euclidean norm over one sample, at {STATES} states of each run's validation split.
lemma     the paper's formula as printed (A.1; for other mixers the reference bound, its mixer measured): not a bound
bound     upper bound of the Jacobian at these states; ~ with the gates held at their values; - none is known
measured  largest singular value of the Jacobian at these states, {ITERATIONS} power iterations, from below
any state: the bound wherever the network may be taken. one step: state to state, in units of each channel's deviation.
defect: mean one-step error in those units, on {STATES} pairs; bound, the one that always holds; lemma, B.1 as printed."""

Row = tuple[float, float, float]


@dataclass(frozen=True)
class Column:
    """What is said of one run: rows by name, and whether gates had to be held."""

    title: str
    rows: dict[str, Row]
    held: bool


def compare(folders: Sequence[Path]) -> str:
    """The table of `driftnet info bounds RUN...`."""
    columns = [examine(folder) for folder in folders]
    names = list(dict.fromkeys(name for column in columns for name in column.rows))
    width = max(map(len, names))
    head = [f"{'':{width}}"] + [f"  {column.title[-29:]:^29}" for column in columns]
    under = [f"{'':{width}}"] + ["  " + " ".join(f"{title:>9}" for title in COLUMNS)] * len(columns)
    body = ["".join((f"{name:{width}}", *(_cells(column, name) for column in columns))) for name in names]
    return "\n".join((LEGEND, "", "".join(head), "".join(under), *body))


def _cells(column: Column, name: str) -> str:
    printed, bound, measured = column.rows.get(name, (nan, nan, nan))
    mark = "~" if column.held and isfinite(bound) and name != "defect" else ""
    return "  " + " ".join(f"{text:>9}" for text in (_number(printed), mark + _number(bound), _number(measured)))


def _number(value: float) -> str:
    return f"{value:.3g}" if isfinite(value) else "-"


def examine(folder: Path) -> Column:
    """All figures of one run."""
    (task, _), recipe = describe(folder), recipe_of(folder)
    # Double precision: products of oneDNN, which networks use in single precision, have no second derivative.
    model = load(folder).requires_grad_(False).double()
    validation = Trajectories(Path(recipe.data), task, "validation")
    stored = Pairs(Disk(validation), STATES, order_of(validation, 0, STATES), prefetch=False)[0]
    pairs = Batch(tuple(each.double() for each in stored.states), stored.lead.double(), stored.static.double())
    state = pairs.states[0]
    network = model.network
    rows = _network_rows(network, torch.cat((normal(model, state), pairs.static), 1))
    rows["one step"] = (nan, nan, float(jacobian_norm(one_step(model, pairs.static), normal(model, state)).max()))
    rows["defect"] = defect_row(model, pairs, recipe.training.loss)
    gates = [module for module in network.modules() if isinstance(module, Drift) and module.gate is not None]
    return Column(str(folder), rows, bool(gates))


def _network_rows(network: nn.Module, x: Float[Tensor, "b c h w"]) -> dict[str, Row]:
    measured = float(jacobian_norm(network, x).max())
    if not isinstance(network, MultiScale):
        return {"network": (nan, nan, measured)}
    met = visit(network, x)
    rows = {name: block_row(module, met) for name, module in network.named_modules() if isinstance(module, Block)}
    product = prod(printed for printed, _, _ in rows.values())
    rows = {name.replace(".blocks.", "."): row for name, row in rows.items()}
    anywhere = Bounds(met, anywhere=True).network(network)
    return {**rows, "network": (product, Bounds(met).network(network), measured), "network, any state": (nan, anywhere, nan)}


def block_row(block: Block, met: Visit) -> Row:
    """The three figures of a block."""
    features, lead = met.inputs[block]
    return lemma(block, met), Bounds(met).block(block), float(jacobian_norm(lambda x: block(x, lead), features).max())


def normal(model: Normalized, state: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
    """A state in units of each channel's standard deviation."""
    return (state - model.get_buffer("mean")) / model.get_buffer("std")


def one_step(model: Normalized, static: Float[Tensor, "b s h w"]) -> Callable[[Tensor], Tensor]:
    """u(t) -> u(t+1), both in units of each channel's standard deviation."""
    return lambda x: normal(model, model(x * model.get_buffer("std") + model.get_buffer("mean"), static))


@torch.no_grad()
def defect_row(model: Normalized, pairs: Batch, loss: Loss) -> Row:
    """Theorem B.1 as printed, the bound that always holds, and the mean defect, under the run's own lambda and power.

    The loss's weight r^alpha is that of a Sobolev norm of order s = alpha / 2.
    """
    order, weight = loss.power / 2, loss.frequency or 1.0
    state, following = pairs.states
    error = normal(model, model(state, pairs.static)) - normal(model, following)
    mean_loss = float(sobolev_loss(error, order, weight).mean())
    return printed_defect_bound(mean_loss, order, weight), defect_bound(mean_loss, weight), float(defect(error).mean())
