import math

import pytest
import torch


@pytest.fixture
def waves():
    def on_grid(height, width):
        """A polynomial of modes up to 3 on any grid."""
        y = torch.arange(height, dtype=torch.float64)[:, None] * (2 * math.pi / height)
        x = torch.arange(width, dtype=torch.float64) * (2 * math.pi / width)
        first, second = torch.sin(2 * y - 3 * x) + 0.3 * torch.cos(y), torch.cos(3 * y + x) - 0.5
        return torch.stack((first, second))[None]

    return on_grid
