"""driftnet: neural surrogates of PDEs, from the equation to the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftnet.registry import resolve

if TYPE_CHECKING:
    from driftnet.models.operator import rollout
    from driftnet.models.poseidon import load_poseidon
    from driftnet.models.saved import load

__all__ = ["load", "load_poseidon", "rollout"]

_LATE = {
    "load": "driftnet.models.saved:load",
    "load_poseidon": "driftnet.models.poseidon:load_poseidon",
    "rollout": "driftnet.models.operator:rollout",
}


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first asked for: the command line answers without it."""
    if name in _LATE:
        return resolve(_LATE[name])
    raise AttributeError(f"module 'driftnet' has no attribute '{name}'")
