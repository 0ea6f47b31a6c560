"""The command line: finds the command, and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from driftnet.commands import COMMANDS
from driftnet.configs import require
from driftnet.errors import DriftnetError, unknown
from driftnet.memory import reuse_freed

FAILURE, INTERRUPTED = 1, 130
NO_SPACE = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))  # Also in what HDF5 says.
NO_MEMORY = ("allocate memory", "out of memory", "Storage size calculation overflowed")  # As torch says it.


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; leave with 0, with 1 after a failure, with 2 where the command itself is wrong."""
    try:
        said = _dispatch(list(sys.argv[1:] if arguments is None else arguments))
        if said:  # Of several processes, one speaks.
            print(said)
    except DriftnetError as error:
        _say(error)
        _leave(error.exit_code)
    except (OSError, MemoryError, RuntimeError) as error:
        reason = _reason(error)
        if reason is None:
            raise
        _say(reason)
        sys.exit(FAILURE)
    except KeyboardInterrupt as interrupt:
        _say(str(interrupt) or "interrupted; the same command goes on from there")
        sys.exit(INTERRUPTED)


def _leave(code: int) -> NoReturn:
    """End the process; one of several does not wait, as torch's destructors would, for another that is gone."""
    world = sys.modules.get("driftnet.train.world")
    if world is not None and world.KEPT:
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def _say(what: object) -> None:
    """One line, whatever names a person gave."""
    print("driftnet:", " ".join(str(what).splitlines()), file=sys.stderr)


def _reason(error: Exception) -> str | None:
    """What a person can mend: a file, a full disk, too little memory; None for all else."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if any(sign in str(error) for sign in NO_SPACE):
        return f"the disk is full: {str(error).splitlines()[0]}"
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in NO_MEMORY):
        return f"not enough memory: {error}"
    return None


def _dispatch(arguments: list[str]) -> str:
    if not arguments or arguments[0] in ("-h", "--help"):
        return _overview()
    if arguments[0] == "--version":
        from importlib.metadata import version

        return version("driftnet")
    verb, rest = arguments[0], arguments[1:]
    if verb not in COMMANDS:
        raise unknown("command", verb, COMMANDS)
    first_flag = next((index for index, argument in enumerate(rest) if argument.startswith("-")), len(rest))
    names, flags = rest[:first_flag], rest[first_flag:]
    if not names and flags in (["-h"], ["--help"]) and verb == "info":
        return f"driftnet info {COMMANDS[verb].names}\n\n{COMMANDS[verb].summary}"
    _check_names(verb, names, flags)
    reuse_freed()
    return COMMANDS[verb].run(names, flags)


def _check_names(verb: str, names: list[str], flags: list[str]) -> None:
    wanted = COMMANDS[verb].names
    asks_for_help = any(flag in ("-h", "--help") for flag in flags)
    if wanted.startswith("[") or (asks_for_help and not names):
        return
    enough = bool(names) if wanted.endswith("...") else len(names) == len(wanted.split())
    require(enough, f"driftnet {verb} needs {wanted}, then options; 'driftnet info' lists the names it knows")


def _overview() -> str:
    width = max(len(f"{verb} {command.names}") for verb, command in COMMANDS.items())
    verbs = "\n".join(f"  {f'{verb} {command.names}':{width}}  {command.summary}" for verb, command in COMMANDS.items())
    return (
        "Neural surrogates of PDEs, from the equation to the report.\n\n"
        f"usage: driftnet COMMAND NAME... [--config FILE] [--option value]...\n\n{verbs}\n\n"
        "Every command has --help and, but for info, --print_config. Exit codes: 0, 1 a failure, 2 a wrong command,\n"
        "75 try again later (another process is at work on the same files, or the system ended this one), 130 interrupted."
    )
