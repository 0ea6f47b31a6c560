"""docs/drop-in.md runs as it is written, and the mixer does in foreign networks what it promises."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from driftnet.models.mixers.drift import Drift
from tests.oracles import oracle

PAGE = Path(__file__).parents[2] / "docs" / "drop-in.md"
CUDA_OPERATORS = ("nms", "qnms")


@pytest.fixture(scope="module")
def page() -> SimpleNamespace:
    """The names that the page's code defines."""
    oracle("transformers")
    import_timm()
    torch.manual_seed(0)
    names: dict = {"__name__": "page"}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(code, names)
    return SimpleNamespace(**names)


def import_timm() -> None:
    """timm imports torchvision, of which its models use nothing that is compiled.

    The public index has torchvision for CUDA alone; beside a torch for CPUs it lacks the operators it wants to register.
    """
    try:
        oracle("timm")
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] in ("timm", "torchvision")]:
            del sys.modules[name]
        for operator in CUDA_OPERATORS:
            torch.library.define(f"torchvision::{operator}", "(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        import timm  # noqa: F401


def drifts(model: torch.nn.Module) -> list[Drift]:
    return [module for module in model.modules() if isinstance(module, Drift)]


def every_drift_learns(model: torch.nn.Module, loss: torch.Tensor) -> bool:
    loss.backward()
    parameters = [parameter for mixer in drifts(model) for parameter in mixer.parameters()]
    return all(parameter.grad is not None and parameter.grad.abs().max() > 0 for parameter in parameters)


def test_a_sequential_with_a_drift_mixer_commutes_with_translation(page):
    x = torch.randn(2, 3, 18, 24)
    moved = page.sequential(x.roll((5, -7), (2, 3)))
    torch.testing.assert_close(moved, page.sequential(x).roll((5, -7), (2, 3)), rtol=1e-4, atol=1e-5)


def test_every_parameter_of_the_mixer_in_a_sequential_learns(page):
    assert every_drift_learns(page.sequential, page.sequential(torch.randn(2, 3, 18, 24)).square().mean())


def test_no_pooling_is_left_in_the_metaformer_and_every_mixer_learns(page):
    names = {type(module).__name__ for module in page.metaformer.modules()}
    assert "Pooling" not in names
    assert len(drifts(page.metaformer)) == 12
    assert every_drift_learns(page.metaformer, page.metaformer(torch.randn(2, 3, 64, 96)).square().sum())


def test_no_attention_is_left_in_swin_and_every_mixer_learns(page):
    assert not any("Attention" in type(module).__name__ for module in page.swin.modules())
    assert len(drifts(page.swin)) == 4
    loss = page.swin(torch.randn(2, 3, 64, 64)).last_hidden_state.square().sum()
    assert every_drift_learns(page.swin, loss)


def test_one_swin_block_sees_the_whole_map_with_the_mixer_and_its_window_without(page):
    assert seen_by_one_block(page.swin) == 16 * 16
    assert seen_by_one_block(page.Swinv2Model(page.swin.config)) == 4 * 4


def seen_by_one_block(swin: torch.nn.Module) -> int:
    """Tokens of a 16x16 map on which one token after the first block depends."""
    tokens = torch.randn(1, 256, 16, requires_grad=True)
    after = swin.encoder.layers[0].blocks[0].eval()(tokens, (16, 16))[0]
    (gradient,) = torch.autograd.grad(after[0, 0, 0], tokens)
    return int((gradient[0].abs().amax(1) > 0).sum())
