import torch

from driftnet.metrics.statistics import Moments


def test_moments_of_a_stream_are_those_of_the_whole_even_far_from_zero():
    values = 1e6 + torch.randn(7, 2, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    moments = Moments(2)
    for block in values.split([1, 4, 2]):
        moments.add(block)
    flat = values.transpose(0, 1).flatten(1)
    assert torch.allclose(moments.mean, flat.mean(1), rtol=1e-15)
    assert torch.allclose(moments.variance, flat.var(1, correction=0), rtol=1e-9)
