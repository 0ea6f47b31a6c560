import pytest
import torch
from torch.nn import functional as F

from driftnet.models.frugal import MLP, suits_onednn
from driftnet.models.recorded import Recorded, record


@pytest.fixture
def mlp():
    torch.manual_seed(0)
    return MLP(6, 24)


def plain(mlp, x):
    return F.linear(F.gelu(F.linear(x, mlp[0].weight, mlp[0].bias)), mlp[2].weight, mlp[2].bias)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_mlp_and_its_gradients_are_those_of_its_layers(mlp, dtype):
    mlp, x = mlp.to(dtype), torch.randn(2, 4, 5, 6, dtype=dtype, requires_grad=True)
    assert suits_onednn(x) == (dtype == torch.float32)
    inputs = (x, *mlp.parameters())
    weights = torch.randn(2, 4, 5, 6, dtype=dtype)
    for found, expected in zip(
        torch.autograd.grad((mlp(x) * weights).sum(), inputs),
        torch.autograd.grad((plain(mlp, x) * weights).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_mlp_has_second_derivatives(mlp, dtype):
    mlp, x = mlp.to(dtype), torch.randn(3, 6, dtype=dtype, requires_grad=True)
    seconds = []
    for function in (mlp, lambda x: plain(mlp, x)):
        (first,) = torch.autograd.grad(function(x).square().sum(), x, create_graph=True)
        seconds.append(torch.autograd.grad(first.square().sum(), x)[0])
    torch.testing.assert_close(*seconds, rtol=1e-4, atol=1e-5)


def test_what_onednn_does_is_not_used_under_autocast(mlp):
    with torch.autocast("cpu", torch.bfloat16):
        assert not suits_onednn(torch.randn(2, 6))
        assert mlp(torch.randn(2, 6)).dtype == torch.bfloat16


def test_without_a_gpu_nothing_is_recorded(mlp):
    x = torch.randn(2, 6)
    expected = mlp(x)
    assert torch.equal(record(mlp)(x), expected)
    assert isinstance(mlp.forward, Recorded)
    assert not mlp.forward.kept


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")
def test_recorded_passes_say_what_launched_ones_say():
    torch.manual_seed(0)
    mlp = MLP(6, 24).cuda()
    xs = [torch.randn(2, 6, device="cuda") for _ in range(3)]

    def passes():
        for x in xs:
            mlp.zero_grad()
            y = mlp(x)
            y.square().sum().backward()
            yield y.detach().clone(), [parameter.grad.clone() for parameter in mlp.parameters()]

    launched = list(passes())
    record(mlp)
    for (y, gradients), (expected, others) in zip(passes(), launched, strict=True):
        torch.testing.assert_close(y, expected)
        torch.testing.assert_close(gradients, others)
