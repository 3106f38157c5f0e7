"""Where `metax-docker` begins: as little as possible stands between a person and docker.

Whatever is not ours is handed over by becoming the engine: same process, same terminal, same signals, and its exit
status is ours. So only what is needed to see that is imported first.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.option_table import Kinds
from tangram.services.docker_host.reading import Command, may_ask_us, read_command, read_start

REFUSED: Final = 125
"""What docker itself ends with when it has not started a container."""
INTERRUPTED: Final = 130
_HELP: Final = frozenset({"--help", "--help=true"})


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `metax-docker`."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = _run(words)
        sys.stdout.flush()
    except HostError as error:
        _complain(str(error))
        sys.exit(REFUSED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(status)


def _run(words: Sequence[str]) -> int:
    command = read_command(words)
    if not command.verb and not command.rest and _HELP & set(command.before):
        return _teach()
    from tangram.services.docker_host.engines import (  # noqa: PLC0415 - help needs no engine
        CommandLine,
        engine_name,
        find_program,
        help_options,
    )

    if command.verb == ("setup",):
        from tangram.cli.docker.setup import setup  # noqa: PLC0415 - only here

        return setup(command, os.environ)
    name = engine_name(command.own.get("engine"), os.environ)
    program = find_program(name, os.environ, sys.argv[0])
    if not command.starts_container or not may_ask_us(command.rest):
        if command.starts_container and _HELP & set(command.rest):
            _teach_run(command)
        return _hand_over(command, program, command.rest)
    engine = CommandLine(name, program, command.before)
    start = read_start(command.rest, lambda: help_options(engine))
    if start.values("help"):
        _write_run_help()
        return _hand_over(command, program, start.words)
    if start.unknown or start.image is None or not start.asks_us:
        # Docker has words of its own for what is wrong with such a command.
        return _hand_over(command, program, start.words)
    from tangram.cli.docker.starting import added  # noqa: PLC0415 - reading cards takes a while to import

    return _hand_over(command, program, (*added(command, start, engine, os.environ), *start.words))


def _hand_over(command: Command, program: str, words: Sequence[str]) -> int:
    """Become the engine; or print what it would be."""
    argv = [*command.before, *command.verb, *words]
    if "dry-run" in command.own:
        sys.stdout.write(f"{shlex.join([Path(program).name, *argv])}\n")
        return 0
    sys.stdout.flush()
    sys.stderr.flush()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        # Python ignores these, and what is ignored stays so in the program that follows.
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execve(program, [Path(program).name, *argv], untouched(os.environ))  # noqa: S606 - that is the purpose
    except OSError as error:
        raise HostError(f"{program} cannot be run ({error.strerror}).") from None


def untouched(environment: Mapping[str, str], begun: Path = Path("/proc/self/environ")) -> dict[str, str]:
    """The environment as we got it: Python adds LC_CTYPE where no locale is set."""
    result = dict(environment)
    try:
        given = begun.read_bytes().split(b"\0")
    except OSError:
        return result
    if "LC_CTYPE" in result and not any(each.startswith(b"LC_CTYPE=") for each in given):
        del result["LC_CTYPE"]
    return result


def _teach() -> int:
    from tangram import __version__  # noqa: PLC0415 - only here
    from tangram.cli.docker import manual  # noqa: PLC0415 - only here

    sys.stdout.write(manual.HELP.format(version=__version__))
    return 0


def _teach_run(command: Command) -> None:
    """`run --help` tells of our options too; `run IMAGE --help` is the container's."""
    if read_start(command.rest, lambda: Kinds({}, {})).values("help"):
        _write_run_help()


def _write_run_help() -> None:
    from tangram.cli.docker import manual  # noqa: PLC0415 - only here

    sys.stdout.write(f"{manual.RUN_OPTIONS}\n")


def _complain(sentence: str) -> None:
    from tangram.cli.plain import clean  # noqa: PLC0415 - only here

    sys.stderr.write(f"metax-docker: {clean(sentence)}\n")
