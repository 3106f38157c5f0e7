"""Who one is to a registry: what `docker login`, `helm registry login` and `podman login` have kept.

All three write the same kind of file, so whoever has logged in with any of them need not do it again. Secrets that such
a file leaves to another program (a credential helper) are asked of that program. A file that cannot be understood is
an error and not skipped: to go on without the login would end in a refusal that names the wrong reason.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tangram.services.images.addresses import Target
from tangram.services.images.errors import UNREADABLE, ImagesError

_HELPER_PATIENCE_S: Final = 30
_HELPER_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_BY_TOKEN: Final = "<token>"  # noqa: S105 - the user name that helpers give to a token
_UNKNOWN: Final = "credentials not found"
_OTHER_KEYS: Final = {"docker.io": ("index.docker.io", "registry-1.docker.io")}


class Login(msgspec.Struct, frozen=True):
    """`secret` is a password, or with `is_token` what a token server takes in its place."""

    user: str
    secret: str
    source: str
    """How to speak of where it comes from."""
    is_token: bool = False


class _Entry(msgspec.Struct, frozen=True, rename="lower"):
    auth: str = ""
    username: str = ""
    password: str = ""
    identitytoken: str = ""


class _File(msgspec.Struct, frozen=True, rename="camel"):
    auths: dict[str, _Entry] | None = None
    creds_store: str = ""
    cred_helpers: dict[str, str] | None = None


class _Helped(msgspec.Struct, frozen=True, rename="pascal"):
    username: str = ""
    secret: str = ""


def login_files(environment: Mapping[str, str]) -> list[Path]:
    """Where logins are kept, the most usual first, whether the files are there or not."""
    home = Path(environment.get("HOME") or "/")
    docker = Path(environment.get("DOCKER_CONFIG") or home / ".docker")
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    places = [docker / "config.json"]
    helm = environment.get("HELM_REGISTRY_CONFIG")
    helm_home = Path(environment.get("HELM_CONFIG_HOME") or config / "helm")
    places.append(Path(helm) if helm else helm_home / "registry" / "config.json")
    podman = environment.get("REGISTRY_AUTH_FILE")
    if podman:
        places.append(Path(podman))
    elif runtime := environment.get("XDG_RUNTIME_DIR"):
        places.append(Path(runtime) / "containers" / "auth.json")
    else:
        places.append(Path(f"/run/containers/{os.getuid()}/auth.json"))
    return places


def find_login(target: Target, environment: Mapping[str, str]) -> Login | None:
    """The first login that is kept for the target, or nothing."""
    for path in login_files(environment):
        kept = _read(path)
        if kept is None:
            continue
        found = _login_in(kept, path, target, environment)
        if found is not None:
            return found
    return None


def _read(path: Path) -> _File | None:
    try:
        # docker and podman make the file before they have anything to keep.
        return msgspec.json.decode(path.read_bytes().strip() or b"{}", type=_File)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ImagesError(
            f"{path}, where logins are kept, cannot be read ({error.strerror}): let it be read, or give --user."
        ) from None
    except UNREADABLE as error:
        raise ImagesError(
            f"{path}, where logins are kept, cannot be understood ({error}): log in again, or give --user."
        ) from None


def _login_in(kept: _File, path: Path, target: Target, environment: Mapping[str, str]) -> Login | None:
    keys = list(_keys(target))
    for key in keys:
        if helper := (kept.cred_helpers or {}).get(key):
            return _helped(helper, key, path, environment)
    for key in keys:
        entry = (kept.auths or {}).get(key)
        if entry is None:
            continue
        login = _login_of(entry, key, path)
        if login is not None:
            return login
        if kept.creds_store:
            return _helped(kept.creds_store, key, path, environment)
    return _helped(kept.creds_store, keys[-1], path, environment) if kept.creds_store else None


def _keys(target: Target) -> Iterator[str]:
    """The names under which a login may be kept: for a project, for a domain, and as addresses of old."""
    parts = target.project.split("/")
    for length in range(len(parts), 0, -1):
        yield "/".join((target.domain, *parts[:length]))
    for name in (target.domain, *_OTHER_KEYS.get(target.domain, ())):
        yield from (f"https://{name}", f"http://{name}", f"https://{name}/v1/", f"https://{name}/v2/")
    yield target.domain


def _login_of(entry: _Entry, key: str, path: Path) -> Login | None:
    user, secret = entry.username, entry.password
    if entry.auth:
        try:
            user, _, secret = base64.b64decode(entry.auth, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise ImagesError(
                f"{path} keeps a login for {key} that cannot be understood: log in again, or give --user."
            ) from None
        # Some tools pad what they encode.
        secret = secret.rstrip("\0")
    if entry.identitytoken:
        return Login(user, entry.identitytoken, str(path), is_token=True)
    return Login(user, secret, str(path)) if user else None


def _helped(helper: str, key: str, path: Path, environment: Mapping[str, str]) -> Login | None:
    """What the program that keeps the secrets answers."""
    program = f"docker-credential-{helper}"
    found = shutil.which(program, path=environment.get("PATH")) if _HELPER_NAME.fullmatch(helper) else None
    if found is None:
        raise ImagesError(
            f"{path} leaves logins to the program {program:.80}, which is not on the PATH: install it, or give --user."
        )
    try:
        done = subprocess.run(  # noqa: S603 - the program that the user's own file names
            [found, "get"],
            input=key.encode(),
            capture_output=True,
            check=False,
            timeout=_HELPER_PATIENCE_S,
            env=dict(environment),
        )
    except subprocess.TimeoutExpired:
        raise ImagesError(
            f"{program}, which {path} leaves logins to, gave no answer within {_HELPER_PATIENCE_S} s: try "
            f"`echo {key} | {program} get`, or give --user."
        ) from None
    except OSError as error:
        raise ImagesError(
            f"{program}, which {path} leaves logins to, cannot be run ({error.strerror})."
        ) from None
    if done.returncode != 0:
        said = " ".join((done.stdout + b" " + done.stderr).decode(errors="replace").split())
        if _UNKNOWN in said:
            return None
        raise ImagesError(
            f"{program}, which {path} leaves logins to, failed ({said:.200}): mend it, or give --user."
        )
    try:
        answer = msgspec.json.decode(done.stdout, type=_Helped)
    except UNREADABLE:
        raise ImagesError(
            f"{program}, which {path} leaves logins to, gave no login: mend it, or give --user."
        ) from None
    if not answer.secret:
        return None
    return Login(answer.username, answer.secret, program, is_token=answer.username == _BY_TOKEN)
