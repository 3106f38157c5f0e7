"""How a registry is named on the command line: the place, the login, and whom to believe."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tangram.cli.failures import InputError
from tangram.services.images.addresses import AddressError, Target, read_target
from tangram.services.images.logins import Login
from tangram.services.images.pushing import Door

UserOption = Annotated[
    str,
    Parameter(metavar="NAME", show_default=False, help="Who to log in as, instead of a login that is kept."),
]
PasswordOption = Annotated[
    bool, Parameter(negative="", show_default=False, help="Read the password from standard input.")
]
AuthorityOption = Annotated[
    Path | None, Parameter(metavar="FILE", help="Believe this certificate, or authority, too (PEM).")
]
PlainOption = Annotated[
    bool, Parameter(negative="", show_default=False, help="Speak HTTP: nothing is encrypted.")
]


def target_of(text: str) -> Target:
    """The place that DOMAIN/PROJECT names."""
    try:
        return read_target(text)
    except AddressError as error:
        raise InputError(str(error)) from None


def door_of(user: str, ca: Path | None, *, password_stdin: bool, plain_http: bool) -> Door:
    """What the options say together; a password is read here."""
    if plain_http and ca is not None:
        raise InputError(
            "--ca is about certificates, and --plain-http speaks without any: leave one of the two out."
        )
    return Door(login=_login(user, asked=password_stdin), authority=ca, plain_http=plain_http)


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
