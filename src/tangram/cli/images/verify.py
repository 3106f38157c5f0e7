"""`tangram images verify`: whether a file is whole, and whether a registry has what is in it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Annotated

from cyclopts import Parameter

from tangram.cli.failures import InputError
from tangram.cli.images.doors import (
    AuthorityOption,
    PasswordOption,
    PlainOption,
    UserOption,
    door_of,
    target_of,
)
from tangram.cli.images.options import NOT_DONE, ArchiveOption, OutputOption, tell_failure
from tangram.cli.images.progress import archive_at, counting
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.patience import Patience
from tangram.cli.plain import clean
from tangram.cli.screen import Screen, error_console, output_console
from tangram.services.images.errors import ImagesError
from tangram.services.images.pushing import Door
from tangram.services.images.verifying import Finding, Verified, verified, verify_archive, verify_registry


def verify(
    target: Annotated[
        str,
        Parameter(
            name="DOMAIN/PROJECT", show_default=False, help="Also compare what is there with the file."
        ),
    ] = "",
    /,
    *,
    archive: ArchiveOption,
    read: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="Fetch every byte from the registry and compare it."),
    ] = False,
    user: UserOption = "",
    password_stdin: PasswordOption = False,
    ca: AuthorityOption = None,
    plain_http: PlainOption = False,
    output: OutputOption = "table",
) -> int:
    """Compare a file of images with its checksums, and a registry with the file."""
    form = read_format(output)
    place = target_of(target) if target else None
    if place is None and (read or user or password_stdin or ca is not None or plain_http):
        raise InputError(
            "--read, --user, --password-stdin, --ca and --plain-http are about a registry, and none is named: write "
            "DOMAIN/PROJECT behind verify, or leave these out."
        )
    door = (
        Door() if place is None else door_of(user, ca, password_stdin=password_stdin, plain_http=plain_http)
    )
    try:
        with archive_at(archive) as images, Patience(error_console()) as patience:
            total = sum(blob.size for blob in images.blobs())
            found = verify_archive(images, counting(patience, f"reading {archive.name} (MB)", total))
            if place is not None:
                on_bytes = counting(patience, f"looking at {place} (MB)", total)
                found += asyncio.run(
                    verify_registry(images, place, door, environment=os.environ, read=read, on_bytes=on_bytes)
                )
            answer = verified(images, place, found)
    except ImagesError as error:
        return tell_failure(error)
    if form is not Format.TABLE:
        write_data(answer, form)
    else:
        rows = [(one.what, one.where, _state(one)) for one in answer.findings]
        Screen(output_console()).table(("WHAT", "WHERE", "STATE"), rows)
    if answer.well:
        return 0
    sys.stderr.write(f"tangram: {clean(_sentence(answer))}\n")
    return NOT_DONE


def _state(finding: Finding) -> str:
    return f"{finding.state} ({finding.found:.19})" if finding.found else finding.state.value


def _sentence(answer: Verified) -> str:
    bad = [one for one in answer.findings if not one.well]
    here = [one for one in bad if one.where == answer.file]
    told: list[str] = []
    if here:
        told.append(
            f"{answer.file} is damaged: {', '.join(one.what[:19] for one in here)} is not what it should be; copy it "
            "again, and compare its checksum"
        )
    if there := [one for one in bad if one.where != answer.file]:
        named = ", ".join(f"{_short(one)} is {one.state}" for one in there[:5])
        more = f" and {len(there) - 5} more" if len(there) > 5 else ""
        told.append(f"{answer.registry} is not what {answer.file} holds: {named}{more}; push again")
    return "; ".join(told) + "."


def _short(finding: Finding) -> str:
    return finding.what[:19] if finding.what.startswith("sha256:") else finding.what
