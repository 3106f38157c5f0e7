"""A container with cards: this host, as `services.docker_host.starting` wants to know it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from tangram.cli.docker.cards import device_root, read_cards
from tangram.cli.plain import clean
from tangram.services.docker_host.claims import claims_folder
from tangram.services.docker_host.engines import Engine
from tangram.services.docker_host.image_contents import cache_folder
from tangram.services.docker_host.reading import Command, Start
from tangram.services.docker_host.starting import Host, added_words


def added(command: Command, start: Start, engine: Engine, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The words that stand before the person's own options."""
    host = Host(
        engine=engine,
        look=lambda: read_cards(command, environment),
        say=say,
        environment=environment,
        before=command.before,
        device_root=device_root(command, environment),
        cache=cache_folder(environment),
        claims=claims_folder(environment, os.geteuid()),
        rootless=os.geteuid() != 0,
        dry_run="dry-run" in command.own,
    )
    return added_words(start, host)


def say(sentence: str) -> None:
    """Tell a person something, out of the way of what the container prints."""
    sys.stderr.write(f"metax-docker: {clean(sentence)}\n")
