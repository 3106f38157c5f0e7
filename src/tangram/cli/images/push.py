"""`tangram images push`: from a file to a registry."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tangram.cli.failures import InputError
from tangram.cli.images.options import ArchiveOption, tell_failure
from tangram.cli.images.progress import PushWatcher, short
from tangram.cli.screen import Screen, error_console, output_console
from tangram.services.images.addresses import AddressError, Target, read_target
from tangram.services.images.archive import opened
from tangram.services.images.errors import ImagesError
from tangram.services.images.logins import Login
from tangram.services.images.pushing import Door, Pushed
from tangram.services.images.pushing import push as push_images


def push(
    target: Annotated[
        str, Parameter(name="DOMAIN/PROJECT", help="Where to, such as registry.example.com/cloud.")
    ],
    /,
    *,
    archive: ArchiveOption,
    user: Annotated[
        str,
        Parameter(
            metavar="NAME", show_default=False, help="Who to log in as, instead of a login that is kept."
        ),
    ] = "",
    password_stdin: Annotated[
        bool, Parameter(negative="", show_default=False, help="Read the password from standard input.")
    ] = False,
    ca: Annotated[
        Path | None, Parameter(metavar="FILE", help="Believe this certificate, or authority, too (PEM).")
    ] = None,
    plain_http: Annotated[
        bool, Parameter(negative="", show_default=False, help="Speak HTTP: nothing is encrypted.")
    ] = False,
) -> int:
    """Push all images of a file to a registry."""
    place = _target(target)
    if plain_http and ca is not None:
        raise InputError(
            "--ca is about certificates, and --plain-http speaks without any: leave one of the two out."
        )
    door = Door(login=_login(user, asked=password_stdin), authority=ca, plain_http=plain_http)
    try:
        with opened(archive) as images, PushWatcher(error_console()) as watcher:
            images.check_contents()
            made = asyncio.run(push_images(images, place, door, watcher, environment=os.environ))
    except ImagesError as error:
        return tell_failure(error)
    _told(made)
    return 0


def _target(text: str) -> Target:
    try:
        return read_target(text)
    except AddressError as error:
        raise InputError(str(error)) from None


def _login(user: str, *, asked: bool) -> Login | None:
    if bool(user) != asked:
        raise InputError(
            "--user and --password-stdin belong together: write both, with the password on standard input, or neither "
            "to use the login that docker or helm keep."
        )
    if not user:
        return None
    if ":" in user:
        raise InputError(
            f"--user is {user!r:.80}: a name has no colon; the password comes on standard input."
        )
    try:
        password = sys.stdin.readline().rstrip("\r\n")
        f"{user}{password}".encode()
    except UnicodeError:
        raise InputError(
            "--user or the password is no text in UTF-8, as registries take it: write both in UTF-8."
        ) from None
    if not password:
        raise InputError(
            "--password-stdin found nothing on standard input: write the password there, on one line."
        )
    return Login(user, password, "--user")


def _told(made: list[Pushed]) -> None:
    screen = Screen(output_console())
    rows = [
        (one.name, ", ".join(one.platforms), short(one.digest), "there" if one.was_there else "pushed")
        for one in made
    ]
    screen.table(("IMAGE", "PLATFORMS", "DIGEST", "STATE"), rows)
