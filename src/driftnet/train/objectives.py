"""What a model is asked to get right: from a window of snapshots to what its network says and should have said.

Predictions and targets stand in the network's units: normalised states, or normalised increments. A loss compares them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from driftnet.configs import Objective
from driftnet.data.pairs import Batch
from driftnet.errors import UsageError
from driftnet.models.operator import Normalized

Fields = Float[Tensor, "n c h w"]


def learned(model: Normalized, batch: Batch, objective: Objective) -> tuple[Fields, Fields]:
    """Predictions and targets of a batch; those of several steps stand one after the other along the first axis."""
    given = noisy(batch, model, objective.noise) if objective.noise else batch
    return OBJECTIVES[objective.kind](model, given)


def one_step(model: Normalized, batch: Batch) -> tuple[Fields, Fields]:
    """u(t+1) from the true u(t): teacher forcing."""
    state, following = batch.states
    return model.training_pair(state, batch.static, following)


def all_to_all(model: Normalized, batch: Batch) -> tuple[Fields, Fields]:
    """u(t') from u(t) for every pair t < t', the lead time an input (Herde et al. 2024, Poseidon)."""
    state, following = batch.states
    return model.training_pair(state, batch.static, following, batch.lead)


def unrolled(model: Normalized, batch: Batch) -> tuple[Fields, Fields]:
    """All steps of a closed loop from the true u(t), the gradient through all of them.

    A step counts as if it had begun at the true state before it: relative to true increments, errors do not
    become cheap where the loop has gone astray.
    """
    state, pairs = batch.states[0], []
    for before, following in zip(batch.states, batch.states[1:], strict=False):
        state = model(state, batch.static)
        pairs.append((model.target(before, state), model.target(before, following)))
    predictions, targets = zip(*pairs, strict=True)
    return torch.cat(predictions), torch.cat(targets)


def pushforward(model: Normalized, batch: Batch) -> tuple[Fields, Fields]:
    """The last step of a closed loop, from a state that the model itself reached and that counts as given.

    Brandstetter, Worrall and Welling 2022, section 3.1: the gradient goes through the last step alone.
    """
    state = batch.states[0]
    with torch.no_grad():
        for _ in batch.states[2:]:
            state = model(state, batch.static)
    return model.training_pair(state, batch.static, batch.states[-1])


OBJECTIVES: dict[str, Callable[[Normalized, Batch], tuple[Fields, Fields]]] = {
    "one-step": one_step,
    "all-to-all": all_to_all,
    "unrolled": unrolled,
    "pushforward": pushforward,
}


def noisy(batch: Batch, model: Normalized, spread: float) -> Batch:
    """The batch with Gaussian noise on its first snapshots; what is to be predicted stays true.

    `spread` counts in standard deviations of the training states, channel by channel.
    """
    first, *others = batch.states
    return batch._replace(states=(first + spread * model.get_buffer("std") * torch.randn_like(first), *others))


def require_suited(model: Normalized, objective: Objective, steady: bool) -> None:
    """Refuse what a network, or a map without time, cannot be trained on."""
    kind = objective.kind
    if kind == "all-to-all" and not model.takes_lead_time:
        raise UsageError(
            "training.objective.kind: all-to-all needs a model that takes lead times; of drift-net, scot and conv-unet "
            "--model.backbone.lead_time true makes one, the others have none"
        )
    if kind == "unrolled" and hasattr(model.network, "training_pair"):
        raise UsageError("training.objective.kind: this model is trained on noise levels of single steps, it is not unrolled")
    if steady and objective != Objective():
        raise UsageError("training.objective: a map without time has one step, and its first state is zero by definition")
