"""`tangram images push`: from a file to a registry."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

from cyclopts import Parameter

from tangram.cli.images.doors import (
    AuthorityOption,
    PasswordOption,
    PlainOption,
    UserOption,
    door_of,
    target_of,
)
from tangram.cli.images.options import ArchiveOption, tell_failure
from tangram.cli.images.progress import PushWatcher, archive_at, check_whole, short
from tangram.cli.screen import Screen, error_console, output_console
from tangram.services.images.errors import ImagesError
from tangram.services.images.pushing import Pushed
from tangram.services.images.pushing import push as push_images


def push(
    target: Annotated[
        str, Parameter(name="DOMAIN/PROJECT", help="Where to, such as registry.example.com/cloud.")
    ],
    /,
    *,
    archive: ArchiveOption,
    user: UserOption = "",
    password_stdin: PasswordOption = False,
    ca: AuthorityOption = None,
    plain_http: PlainOption = False,
) -> int:
    """Push all images of a file to a registry."""
    place = target_of(target)
    door = door_of(user, ca, password_stdin=password_stdin, plain_http=plain_http)
    try:
        with archive_at(archive) as images:
            check_whole(images)
            with PushWatcher(error_console()) as watcher:
                made = asyncio.run(push_images(images, place, door, watcher, environment=os.environ))
    except ImagesError as error:
        return tell_failure(error)
    _told(made)
    return 0


def _told(made: list[Pushed]) -> None:
    screen = Screen(output_console())
    rows = [
        (one.name, ", ".join(one.platforms), short(one.digest), "there" if one.was_there else "pushed")
        for one in made
    ]
    screen.table(("IMAGE", "PLATFORMS", "DIGEST", "STATE"), rows)
