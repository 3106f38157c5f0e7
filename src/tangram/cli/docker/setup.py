"""`metax-docker setup`: the CDI file with which an engine gives cards by itself."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from tangram.cli.docker import manual
from tangram.cli.docker.cards import device_root, read_cards
from tangram.services.docker_host import cdi_file
from tangram.services.docker_host.engines import CommandLine, check_version, engine_name, find_program
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.maca import host_folders
from tangram.services.docker_host.reading import Command

_VALUES: Final = ("dir", "maca")
_SWITCHES: Final = ("print", "remove", "help")


def setup(command: Command, environment: Mapping[str, str]) -> int:
    """Write, print or remove the file. Raises `HostError`."""
    options = _options(command.rest)
    if "help" in options:
        sys.stdout.write(manual.SETUP)
        return 0
    folder = Path(options.get("dir", cdi_file.USUAL_FOLDER))
    if not folder.is_absolute():
        raise HostError(f"--dir is {str(folder)!r:.80}: it is an absolute path such as /etc/cdi.")
    if "remove" in options:
        gone = cdi_file.remove_spec(folder)
        sys.stdout.write(f"{folder / cdi_file.FILE} {'is removed' if gone else 'was not there'}.\n")
        return 0
    dry = "print" in options or "dry-run" in command.own
    if not dry:
        name = engine_name(command.own.get("engine"), environment)
        engine = CommandLine(name, find_program(name, environment, sys.argv[0]), command.before)
        cdi_file.check_speaks_cdi(engine, check_version(engine))
    text, cards, folders = _spec(command, options.get("maca"), environment)
    if dry:
        sys.stdout.write(text)
        return 0
    place = cdi_file.write_spec(folder, text)
    mounts = f" and {', '.join(folders)}" if folders else ", without MXMACA"
    sys.stdout.write(
        f"{place} is written: {cards} device nodes{mounts}.\n"
        f"Now `docker run --device {cdi_file.KIND}=0` gives card 0, and {cdi_file.KIND}=all every card.\n"
    )
    return 0


def _spec(command: Command, maca: str | None, environment: Mapping[str, str]) -> tuple[str, int, list[str]]:
    devices = [card.device for card in read_cards(command, environment).cards]
    root = device_root(command, environment)
    places = {
        path: str(PurePosixPath(root) / PurePosixPath(path).relative_to("/dev"))
        for device in devices
        for path in device.nodes.all
    }
    folders = host_folders(maca)
    return cdi_file.host_spec(devices, folders, places), len(places), [each.host for each in folders]


def _options(words: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in _SWITCHES and not equals:
            found[name] = "true"
        elif word.startswith("--") and name in _VALUES and (equals or rest):
            found[name] = value if equals else rest.pop(0)
        else:
            raise HostError(
                f"setup was given {word!r:.80}: it takes --print, --remove, --dir DIR and --maca VERSION|PATH|none "
                "(metax-docker setup --help)."
            )
    if {"print", "remove"} <= found.keys():
        raise HostError("setup was given --print and --remove: write one of them.")
    return found
