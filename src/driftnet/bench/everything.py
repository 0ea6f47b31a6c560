"""`driftnet bench all`: the tables of docs/performance.md, one after another."""

from __future__ import annotations

from driftnet import registry
from driftnet.configs import require
from driftnet.options.bench import BENCH, BenchAllOptions

TOPICS = ("speed", "solvers", "rollout", "start")


def bench(names: list[str], options: BenchAllOptions) -> str:
    """Measure networks, solvers, rollouts and starts with the options that they have by themselves."""
    require(not names, "driftnet bench all takes no names")
    return "\n\n".join(f"{topic}\n\n{registry.resolve(registry.BENCHES[topic])([], BENCH[topic]())}" for topic in TOPICS)
