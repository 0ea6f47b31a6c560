"""Errors that a person caused and can mend: shown in one line, without a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class DriftnetError(Exception):
    """Something failed for a reason that its one-line message states (exit code 1)."""

    exit_code = 1


class UsageError(DriftnetError):
    """The request itself is wrong (exit code 2)."""

    exit_code = 2


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, if any is like it at all."""
    by_folded_name = {candidate.lower(): candidate for candidate in known}
    matches = get_close_matches(name.lower(), by_folded_name, n=1, cutoff=0.5)
    return by_folded_name[matches[0]] if matches else None


def unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that stands in no table: the offender, the nearest match, all that is allowed."""
    names = sorted(known)
    match = nearest(name, names)
    suggestion = f" Did you mean '{match}'?" if match else ""
    return UsageError(f"no {kind} is called '{name}'.{suggestion} Known: {', '.join(names)}.")
