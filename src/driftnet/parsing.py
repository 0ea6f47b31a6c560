"""Command-line parsing: typed options from dataclasses and YAML, every mistake answered in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from inspect import getsource
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

from jsonargparse import ArgumentParser, Namespace, set_parsing_settings

from driftnet.errors import UsageError, nearest

T = TypeVar("T")

LARGEST = 2**63 - 1  # What the libraries below take for an integer.
_CONFIG_FILE = "YAML file with these options; flags after it win"


class OneLineParser(ArgumentParser):
    """Raises UsageError where others print their usage and leave."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say what is wrong, what is allowed, and what was probably meant."""
        raise UsageError(_one_line(message, self._option_strings())) from ex

    def _option_strings(self) -> list[str]:
        return [option for option in self._option_string_actions if option.startswith("--")]


def parse(command: str, summary: str, defaults: T, arguments: Sequence[str]) -> T:
    """Options of the type of `defaults`: those in a --config file and in flags replace the defaults."""
    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    parser = OneLineParser(prog=f"driftnet {command}", description=summary, allow_abbrev=False)
    parser.add_argument("--config", action="config", help=_CONFIG_FILE)
    for entry in fields(defaults):  # pyright: ignore[reportArgumentType]
        _add(parser, entry.name, getattr(defaults, entry.name), type(defaults))
    try:
        parsed = parser.parse_args(list(arguments))
        _check_values("", parsed, defaults)
        chosen = parser.instantiate(parsed)
    except (ValueError, TypeError) as error:
        raise UsageError(_one_line(str(error), [])) from error
    return type(defaults)(**{entry.name: getattr(chosen, entry.name) for entry in fields(defaults)})  # pyright: ignore[reportArgumentType]


def _check_values(where: str, parsed: Namespace, defaults: Any) -> None:
    """Refuse a single value where a group of options belongs, nothing where something does, and what is no path."""
    hints = get_type_hints(type(defaults))
    for name, default in vars(defaults).items():
        value = getattr(parsed, name, None)  # Of a group without a value, only what flags gave is there.
        if value is None and NoneType not in get_args(hints[name]):
            raise UsageError(f"--{where}{name}: it has to have a value")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise UsageError(f"--{where}{name}: a number of {len(str(abs(value)))} digits is too large")
        if isinstance(value, Path) and ("\0" in str(value) or (name == "output" and not value.name)):
            raise UsageError(f"--{where}{name}: {str(value)!r} cannot be the name of a file")
        if is_dataclass(default):
            if not isinstance(value, Namespace):
                known = ", ".join(vars(default))
                raise UsageError(f"{where}{name}: '{value}' stands where a group of options belongs: {known}")
            _check_values(f"{where}{name}.", value, default)


def _add(parser: ArgumentParser, name: str, default: Any, options: type) -> None:
    described = _described_fields(options)[name]
    if default is False:
        # Both spellings: dashes on the command line are usual, and a YAML file has the field's name.
        spellings = dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}"))
        parser.add_argument(*spellings, action="store_true", help=described)
    else:
        kind = type(default) if is_dataclass(default) else get_type_hints(options)[name]
        parser.add_argument(f"--{name}", type=kind, default=default, help=described)


def _described_fields(options: type) -> dict[str, str]:
    """The line below each field in a dataclass's source."""
    return dict(re.findall(r'^    (\w+): .*\n    """(.*?)"""', getsource(options), re.MULTILINE))


def _one_line(message: str, options: list[str]) -> str:
    message = " ".join(message.split())
    unrecognized = re.search(r"[Uu]nrecognized arguments: (.*)", message)
    if unrecognized:
        return _unknown_option(unrecognized[1].split()[0].partition("=")[0], options)
    refused = re.search(r"(?:Group '([\w.]+)' does not accept option|Option) '([\w.]+)'", message)
    if refused:
        return _unknown_option(f"--{refused[1]}.{refused[2]}" if refused[1] else f"--{refused[2]}", options)
    choice = re.search(r"'?Parser key \"([\w.]+)\": Expected a typing.Literal\[(.*?)\]. Got value: (.*)", message)
    if choice:
        allowed = [each.strip().strip("'") for each in choice[2].split(",")]
        match = nearest(choice[3], allowed)
        hint = f" Did you mean '{match}'?" if match else ""
        return f"--{choice[1]}: '{choice[3]}' is not one of {', '.join(allowed)}.{hint}"
    expected = re.search(r"Parser key \"([\w.]+)\": Expected an? (.*). Got value: (.*)", message)
    if expected:
        kind = re.sub(r"<class '(\w+)'>", r"\1", expected[2])
        return f"--{expected[1]}: '{expected[3]}' is not of type {kind}"
    return re.sub(r"Parser key \"([\w.]+)\": ", r"--\1: ", message)


def _unknown_option(name: str, options: list[str]) -> str:
    if not name.startswith("-"):
        return f"unexpected argument '{name}'; names come first, then options"
    match = nearest(name, options)
    hint = f" Did you mean '{match}'?" if match else ""
    return f"there is no option {name}.{hint} --help lists them"
