"""Ratios with a margin; `driftnet bench speed` measures them for good."""

from statistics import median

import pytest

from driftnet.bench.process import ask
from driftnet.bench.speed import exponent, ratio

CASE = {"device": "cpu", "resolution": 128, "repeats": 5}
NAIVE = "published, naive"


def test_the_network_says_what_the_naive_one_says_and_is_faster():
    case = CASE | {"batch": 2, "networks": [NAIVE, "published"], "training": True}
    found = ask("driftnet.bench.contest:race", case, 1)
    assert found["published"]["apart"] < 1e-5
    assert ratio(found[NAIVE], found["published"], "forward") > 1.2
    assert ratio(found[NAIVE], found["published"], "step") > 1.1


def test_the_mixer_says_what_the_naive_one_says_and_is_faster():
    levels = ask("driftnet.bench.contest:mixers", CASE | {"batch": 4, "repeats": 9}, 1)
    assert max(level["apart"] for level in levels) < 1e-5
    naive, ours = (sum(median(level[name]) for level in levels) for name in ("naive", "ours"))
    assert naive > 1.2 * ours


def test_a_training_step_needs_less_memory_than_the_naive_one():
    ours, naive = (ask("driftnet.bench.contest:peak", CASE | {"batch": 8, "network": name}, 1) for name in ("published", NAIVE))
    assert ours < 0.75 * naive


def test_the_exponent_of_a_power_is_found():
    sizes = [64, 128, 256]
    assert exponent(sizes, [3 * (size**2) ** 1.1 for size in sizes]) == pytest.approx(1.1)
