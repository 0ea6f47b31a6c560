"""`driftnet reproduce`: a plan, a run, a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from driftnet import registry
from driftnet.errors import DriftnetError, UsageError, unknown
from driftnet.options.reproduce import ReproduceOptions
from driftnet.reproduce.parts import KINDS, Entry, expand
from driftnet.reproduce.plan import Estimate, show
from driftnet.reproduce.recipes import Cookbook, chosen, read_cookbook
from driftnet.reproduce.store import Store


def reproduce(names: list[str], options: ReproduceOptions) -> str:
    """Run experiments by name, or plan, render or try them; returns what happened."""
    book = read_cookbook(options.recipes, options.scale)
    entries = selected(names, book, options.tasks, options.kinds)
    store = Store.open(options.results / options.scale)
    any_code = options.code == "any"
    if options.dry_run:
        return show(entries, book, store, options.workers, any_code)
    if options.smoke:
        from driftnet.reproduce.smoke import smoke

        return smoke(entries, options.device)
    if options.render:
        from driftnet.reproduce.page import write_page

        return write_page(book, store, options.page or _page(options.scale))
    from driftnet.reproduce.suite import run_suite

    failures = run_suite(entries, store, Estimate(book.scale), options)
    if failures:
        raise DriftnetError(f"{len(failures)} could not be made: " + "; ".join(failures))
    return _done(entries, store, any_code)


def selected(names: list[str], book: Cookbook, tasks: Sequence[str], kinds: Sequence[str] = ()) -> list[Entry]:
    """The entries of the experiments, of some tasks or kinds only where any are named."""
    for task in tasks:
        if task not in registry.TASKS:
            raise unknown("task", task, registry.TASKS)
    experiments = chosen(book, names)
    entries = [entry for each in experiments for entry in expand(each, book)]
    kept = [each for each in entries if each.task in (tasks or (each.task,)) and each.need.part.kind in (kinds or KINDS)]
    if not kept:
        raise UsageError(f"{', '.join(names)}: nothing of {', '.join((*tasks, *kinds))} in it")
    return kept


def _page(scale: str) -> Path:
    return Path("docs") / ("results.md" if scale == "laptop" else f"results-{scale}.md")


def _done(entries: list[Entry], store: Store, any_code: bool) -> str:
    parts = {entry.need.part.name: entry.need.part for entry in entries}
    there = sum(store.has(part, any_code) for part in parts.values())
    rest = "" if there == len(parts) else f"; {len(parts) - there} are missing, the same command goes on"
    return f"{store.folder}: {there} of {len(parts)} parts are there{rest}"
