from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from driftnet import registry
from driftnet.cli import main
from driftnet.configs import Loss, Objective, Training
from driftnet.data.pairs import Batch, Pairs, order_of
from driftnet.data.sources import Disk
from driftnet.data.trajectories import Trajectories
from driftnet.errors import UsageError
from driftnet.models.operator import Normalized, build, unit_statistics
from driftnet.train import fit as fit_module
from driftnet.train.loss import training_loss
from driftnet.train.objectives import learned, noisy, require_suited

TASK = registry.task("NS-PwC")
LEAD_TIME = ["--model.backbone.lead_time", "true"]


class Factor(torch.nn.Module):
    """x -> a x."""

    takes_lead_time = False

    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Parameter(torch.tensor(1.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a * x


def factor() -> Normalized:
    return Normalized(Factor(), "state", unit_statistics(2))


def random_batch(snapshots: int, samples: int = 3, size: int = 16) -> Batch:
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(snapshots, samples, 2, size, size, generator=generator).unbind()
    return Batch(states, torch.full((samples,), 0.05), torch.zeros(samples, 0, size, size))


def network(name: str = "conv-unet-tiny", **backbone) -> Normalized:
    torch.manual_seed(0)
    config = registry.model(name)
    statistics = unit_statistics(2)
    statistics.increment_std.fill_(0.3)
    return build(replace(config, backbone=replace(config.backbone, **backbone)) if backbone else config, TASK, statistics)


def gradient(model: Normalized, pair) -> list[torch.Tensor]:
    model.zero_grad()
    training_loss(*pair, TASK, Loss()).backward()
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


def assert_same(first: list[torch.Tensor], second: list[torch.Tensor]) -> None:
    assert len(first) == len(second) > 0
    for a, b in zip(first, second, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["unrolled", "pushforward"])
def test_several_steps_of_which_there_is_one_are_one_step(kind, noise):
    model, batch, found = network(), random_batch(2), []
    for objective in (Objective(noise=noise), Objective(kind, steps=1, noise=noise)):
        torch.manual_seed(3)
        found.append(gradient(model, learned(model, batch, objective)))
    assert_same(*found)


def test_an_unrolled_model_gives_its_rollout_and_learns_through_all_of_it():
    model, batch = factor(), random_batch(4)
    prediction, target = learned(model, batch, Objective("unrolled", steps=3))
    torch.testing.assert_close(prediction, torch.cat([1.5**step * batch.states[0] for step in (1, 2, 3)]))
    assert torch.equal(target, torch.cat(batch.states[1:]))
    (slope,) = torch.autograd.grad(prediction.sum(), model.network.a)
    torch.testing.assert_close(slope, batch.states[0].sum() * (1 + 2 * 1.5 + 3 * 1.5**2))


def test_steps_of_an_unrolled_model_are_measured_in_true_increments():
    model, batch = network(), random_batch(4)
    prediction, target = learned(model, batch, Objective("unrolled", steps=3))
    rolled = model.rollout(batch.states[0], 3).transpose(0, 1).flatten(0, 1)
    truth = torch.cat(batch.states[1:])
    torch.testing.assert_close(prediction - target, (rolled - truth) / 0.3, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(target, (truth - torch.cat(batch.states[:-1])) / 0.3)


def test_the_gradient_of_pushforward_is_that_of_its_last_step():
    model, batch = factor(), random_batch(4)
    prediction, target = learned(model, batch, Objective("pushforward", steps=3))
    assert torch.equal(target, batch.states[3])
    (slope,) = torch.autograd.grad(prediction.sum(), model.network.a)
    torch.testing.assert_close(slope, batch.states[0].sum() * 1.5**2)

    model = network()
    reached = model.rollout(batch.states[0], 2)[:, -1]
    expected = gradient(model, model.training_pair(reached, batch.static, batch.states[3]))
    assert_same(gradient(model, learned(model, batch, Objective("pushforward", steps=3))), expected)


def test_all_to_all_asks_for_the_state_at_the_lead_time_of_every_sample():
    model, batch = network("drift-net-tiny", lead_time=True), random_batch(2)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    leads = torch.tensor([0.05, 0.4, 1.0])
    prediction, target = learned(model, batch._replace(lead=leads), Objective("all-to-all"))
    one_by_one = [
        model(batch.states[0][i, None], batch.static[i, None], leads[i, None]) - batch.states[0][i, None] for i in range(3)
    ]
    torch.testing.assert_close(0.3 * prediction, torch.cat(one_by_one), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(0.3 * target, batch.states[1] - batch.states[0])
    assert not torch.allclose(prediction[1], learned(model, batch, Objective("all-to-all"))[0][1], rtol=1e-3)


def test_noise_is_gaussian_in_units_of_each_channels_spread_and_on_the_first_state_alone():
    model, batch = factor(), random_batch(3, samples=8, size=64)
    model.get_buffer("std")[:] = torch.tensor([2.0, 5.0])[:, None, None]
    torch.manual_seed(0)
    given = noisy(batch, model, 0.1)
    noise = given.states[0] - batch.states[0]
    assert all(a is b for a, b in zip(given.states[1:], batch.states[1:], strict=True))
    count = 8 * 64 * 64
    for channel, spread in enumerate((0.2, 0.5)):
        values = noise[:, channel] / spread
        assert abs(values.mean()) < 4 / count**0.5
        assert values.std().item() == pytest.approx(1, abs=4 / (2 * count) ** 0.5)
        assert values.pow(4).mean().item() == pytest.approx(3, abs=4 * (96 / count) ** 0.5)
    samples = noise.flatten(1)
    assert torch.corrcoef(samples).fill_diagonal_(0).abs().max() < 5 / (count / 8) ** 0.5
    torch.manual_seed(0)
    assert torch.equal(noisy(batch, model, 0.1).states[0], given.states[0])


def test_the_target_of_a_noisy_state_is_the_true_next_one():
    model, batch = network(), random_batch(2)
    torch.manual_seed(0)
    _, target = learned(model, batch, Objective(noise=0.5))
    torch.manual_seed(0)
    given = noisy(batch, model, 0.5).states[0]
    torch.testing.assert_close(given + 0.3 * target, batch.states[1])


@pytest.mark.parametrize(
    ("name", "objective", "steady", "message"),
    [
        ("drift-net-tiny", Objective("all-to-all"), False, "needs a model that takes lead times"),
        ("drift-net-tiny", Objective("unrolled"), True, "a map without time has one step"),
        ("drift-net-tiny", Objective(noise=0.1), True, "a map without time has one step"),
    ],
)
def test_what_cannot_be_learned_is_refused(name, objective, steady, message):
    with pytest.raises(UsageError, match=message):
        require_suited(network(name), objective, steady)


def arguments(data, runs, *more: str) -> list[str]:
    steps = ["--training.steps", "8", "--training.batch", "3", "--training.validations", "2", "--training.rate", "1e-3"]
    return ["train", "NS-PwC", "conv-unet-tiny", "--data", str(data), "--runs", str(runs), *steps, *more]


def weights(runs) -> dict[str, torch.Tensor]:
    return load_file(runs / "NS-PwC" / "conv-unet-tiny" / "0" / "last.ckpt")


def test_all_to_all_of_single_steps_trains_the_weights_of_one_step(small_data, tmp_path):
    one, all_of_them = tmp_path / "one", tmp_path / "all"
    main(arguments(small_data, one, *LEAD_TIME))
    longest = ["--training.objective.kind", "all-to-all", "--training.objective.longest", "1"]
    main(arguments(small_data, all_of_them, *LEAD_TIME, *longest))
    first, second = weights(one), weights(all_of_them)
    assert first.keys() == second.keys()
    for name in first:  # A lead time that all samples share enters the norms in another order.
        torch.testing.assert_close(first[name], second[name], rtol=1e-4, atol=1e-6)


KINDS = {
    "noise": Objective(noise=0.1),
    "all-to-all": Objective("all-to-all"),
    "unrolled": Objective("unrolled", steps=3),
    "pushforward": Objective("pushforward", noise=0.1),
}


def flags(objective: Objective) -> list[str]:
    given = {name: value for name, value in vars(objective).items() if value is not None}
    chosen = [part for name, value in given.items() for part in (f"--training.objective.{name}", str(value))]
    return [*chosen, "--training.ema", "0.9", *(LEAD_TIME if objective.kind == "all-to-all" else [])]


@pytest.mark.parametrize("kind", KINDS)
def test_every_objective_resumes_with_the_same_bits(kind, small_data, tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    straight, broken = tmp_path / "straight", tmp_path / "broken"
    main(arguments(small_data, straight, *flags(KINDS[kind])))
    monkeypatch.setattr(fit_module, "CHECKPOINT_SECONDS", 0.0)
    step = fit_module.Fit._step

    def killed(self, number):
        if number == 5:
            raise Killed
        return step(self, number)

    with monkeypatch.context() as patch:
        patch.setattr(fit_module.Fit, "_step", killed)
        with pytest.raises(Killed):
            main(arguments(small_data, broken, *flags(KINDS[kind])))
    before = weights(broken)
    main(arguments(small_data, broken, *flags(KINDS[kind])))
    first, second = weights(straight), weights(broken)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not all(torch.equal(before[name], second[name]) for name in first)


@pytest.mark.parametrize("kind", KINDS)
def test_every_objective_learns(kind, small_data):
    objective, model = KINDS[kind], network(lead_time=kind == "all-to-all")
    training = Trajectories(small_data, TASK, "train")
    pairs = Pairs(Disk(training), 4, order_of(training, 0, objective=objective))
    optimizer = torch.optim.AdamW(model.parameters(), lr=Training().rate * 10)
    losses = []
    for number in range(25):
        torch.manual_seed(number)
        loss = training_loss(*learned(model, pairs[number], objective), TASK, Loss())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])
