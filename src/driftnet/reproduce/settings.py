"""Typed values from YAML, and changes to configurations by dotted name: a mistake is one line that names the place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from driftnet.configs import to_dict
from driftnet.errors import UsageError, nearest, unknown

T = TypeVar("T")


def built(kind: type[T], values: Any, where: str) -> T:
    """The dataclass `kind` from a mapping of its fields."""
    if not isinstance(values, Mapping):
        raise UsageError(f"{where}: '{values}' stands where a group of settings belongs: {', '.join(_names(kind))}")
    hints, known = get_type_hints(kind), _names(kind)
    for key in values:
        if key not in known:
            raise UsageError(f"{where}: there is no setting '{key}'.{_hint(str(key), known)} Known: {', '.join(known)}.")
    missing = [entry.name for entry in fields(kind) if entry.name not in values and _required(entry)]  # pyright: ignore[reportArgumentType]
    if missing:
        raise UsageError(f"{where}: '{missing[0]}' is missing")
    return kind(**{key: typed(hints[key], value, f"{where}: {key}") for key, value in values.items()})


def typed(hint: Any, value: Any, where: str) -> Any:
    """`value` as the type `hint`."""
    if is_dataclass(hint):
        return built(hint, value, where)  # pyright: ignore[reportArgumentType]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return None if value is None else typed(next(kind for kind in arguments if kind is not type(None)), value, where)
    if origin is Literal:
        if value not in arguments:
            raise unknown(f"value of '{where}'", str(value), map(str, arguments))
        return value
    if origin in (tuple, dict):
        return _collection(origin, arguments, value, where)
    return _leaf(hint, value, where)


def _collection(origin: type, arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    if origin is dict and isinstance(value, Mapping):
        return {str(key): typed(arguments[1], each, f"{where}: {key}") for key, each in value.items()}
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(typed(arguments[0], each, where) for each in value)
    raise UsageError(f"{where}: '{value}' is not a {'list' if origin is tuple else 'group of settings'}")


def _leaf(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        return value
    if hint is float and isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)  # YAML takes 1e-4 for a text.
        except ValueError:
            pass
    elif isinstance(value, hint) and isinstance(value, bool) == (hint is bool):
        return value
    raise UsageError(f"{where}: '{value}' is not of type {hint.__name__}")


def changed(config: T, changes: Mapping[str, Any], where: str) -> T:
    """A configuration with settings replaced by their dotted names."""
    for name, value in changes.items():
        config = _with(config, name.split("."), value, f"{where}: {name}")
    return config


def _with(config: Any, path: list[str], value: Any, where: str) -> Any:
    known = _names(type(config))
    if path[0] not in known:
        raise UsageError(f"{where}: there is no setting '{path[0]}'.{_hint(path[0], known)} Known: {', '.join(known)}.")
    if len(path) > 1:
        return replace(config, **{path[0]: _with(getattr(config, path[0]), path[1:], value, where)})
    return replace(config, **{path[0]: typed(get_type_hints(type(config))[path[0]], value, where)})


def explicit(config: Any) -> dict[str, Any]:
    """The settings that differ from their defaults, so that a new setting with a default changes nothing."""
    found: dict[str, Any] = {}
    for entry in fields(config):
        value = getattr(config, entry.name)
        if is_dataclass(value):
            found.update({f"{entry.name}.{key}": inner for key, inner in explicit(value).items()})
        elif value != _default(entry):
            found[entry.name] = list(value) if isinstance(value, tuple) else value
    return found


def agrees(stored: Any, current: Any) -> bool:
    """Whether all that was stored is still so; what is new since then does not count."""
    if isinstance(stored, Mapping) and isinstance(current, Mapping):
        return all(key in current and agrees(value, current[key]) for key, value in stored.items())
    return stored == current


def plain(config: Any) -> dict[str, Any]:
    """All settings as JSON holds them."""
    return to_dict(config)


def _default(entry: Field[Any]) -> Any:
    return entry.default_factory() if entry.default_factory is not MISSING else entry.default


def _required(entry: Field[Any]) -> bool:
    return entry.default is MISSING and entry.default_factory is MISSING


def _names(kind: Any) -> list[str]:
    return [entry.name for entry in fields(kind)]


def _hint(name: str, known: list[str]) -> str:
    match = nearest(name, known)
    return f" Did you mean '{match}'?" if match else ""
