"""What of the code a result depends on, as a digest that comments, docstrings and layout do not change."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]

# Rooms whose code decides numbers; the others move, show and check them.
ROOMS = ("data", "evaluate", "metrics", "models", "pdes", "train")
# Modules in those rooms that decide none: other commands, other formats, saving, counting, where data wait. The projection of
# operators counts where a training uses it.
ASIDE = (
    "data.fetch",
    "data.inspect",
    "data.loading",
    "data.merge",
    "data.formats.arrays",
    "data.formats.pdebench",
    "data.formats.the_well",
    "evaluate.predict",
    "evaluate.results",
    "models.cost",
    "models.operator_norms",
    "models.poseidon",
    "models.poseidon_names",
    "models.presets",
    "models.saved",
)


def digest(roots: Iterable[str], package: Path = PACKAGE) -> str:
    """Of the modules "room.module" and of all that they import within the ROOMS."""
    text = "\n".join(f"{name} {_normalised(package, name)}" for name in modules(roots, package))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def modules(roots: Iterable[str], package: Path = PACKAGE) -> list[str]:
    """The roots and all that they import, directly or not, within the ROOMS and not ASIDE."""
    found: set[str] = set()
    waiting = [root.removeprefix("driftnet.").partition(":")[0] for root in roots]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in ASIDE and _file(package, name):
            found.add(name)
            waiting.extend(_imports(package, name))
    return sorted(found)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _file(package: Path, name: str) -> Path | None:
    path = package / name.replace(".", "/")
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def _imports(package: Path, name: str) -> tuple[str, ...]:
    """Modules of the ROOMS that a module imports, anywhere in it."""
    path = _file(package, name)
    nodes = ast.walk(_tree(path)) if path else ()
    names = [
        candidate
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("driftnet.")
        for candidate in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
    ]
    inside = (each.removeprefix("driftnet.") for each in names)
    return tuple(dict.fromkeys(each for each in inside if each.partition(".")[0] in ROOMS and _file(package, each)))


@cache
def _normalised(package: Path, name: str) -> str:
    """The module's syntax without docstrings; comments and layout are not in it."""
    path = _file(package, name)
    if path is None:
        return ""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [each for each in node.body if not _is_text(each)]
    return hashlib.sha256(_written_out(tree).encode()).hexdigest()


def _written_out(part: Any) -> str:
    """A syntax tree as text; what only some versions of Python write down is left out: empty lists, empty ends of formats."""
    if isinstance(part, list):
        return f"[{', '.join(map(_written_out, part))}]"
    if isinstance(part, ast.JoinedStr):
        part = ast.JoinedStr([each for each in part.values if not (isinstance(each, ast.Constant) and each.value == "")])
    if not isinstance(part, ast.AST):
        return repr(part)
    fields = [f"{name}={_written_out(value)}" for name, value in ast.iter_fields(part) if value is not None and value != []]
    return f"{type(part).__name__}({', '.join(fields)})"


def _is_text(node: ast.stmt) -> bool:
    """A docstring, or the text below a field."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
