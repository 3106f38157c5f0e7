"""The files of a kube-scheduler on its host: read with bounds, replaced whole or not at all.

A new content is written beside the old under a name that the kubelet passes over, and takes its place in one step; so
the kubelet never reads half a manifest. Owner and rights stay. A file that somebody changed since it was read is left
alone.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from tangram.daemon.errors import SettingError
from tangram.services.gpu_aware.switching import Change, Files, Plan, backup_path

LARGEST: Final = 1 << 20


def read_files(manifest: Path, config: str) -> Files:
    """What is there now. Raises `SettingError`."""
    text = _read(manifest)
    if text is None:
        raise SettingError(
            f"--manifest names {str(manifest)!r:.200}, which does not exist: name kube-scheduler's static manifest, "
            "usually /etc/kubernetes/manifests/kube-scheduler.yaml on a control-plane node."
        )
    return Files(
        manifest_path=manifest,
        manifest=text,
        config_path=config,
        config=_read(Path(config)),
        backup=_read(backup_path(manifest, config)),
    )


def carry_out(plan: Plan) -> None:
    """Do it: copies and configuration first, the manifest last. Raises `SettingError`, and then says what was done."""
    added = [change for change in plan.unshown if change.after is not None]
    gone = [change for change in plan.unshown if change.after is None]
    changes = (*added, *plan.shown, *gone)
    for change in changes:
        if _read(change.path) != change.before:
            raise SettingError(
                f"{change.path} was changed by somebody meanwhile; nothing was changed: try again."
            )
    done: list[Path] = []
    for change in changes:
        try:
            _carry_out(change)
        except OSError as error:
            already = f"written so far: {', '.join(map(str, done))}" if done else "nothing was changed"
            raise SettingError(
                f"{change.path} cannot be written ({error.strerror or error}; {already}): run this as root on the host."
            ) from None
        done.append(change.path)


def _carry_out(change: Change) -> None:
    if change.after is None:
        change.path.unlink(missing_ok=True)
        return
    change.path.parent.mkdir(parents=True, exist_ok=True)
    _replace(change.path.resolve(), change.after)


def _replace(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            _keep_rights(file.fileno(), path)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _keep_rights(descriptor: int, path: Path) -> None:
    try:
        before = path.stat()
    except FileNotFoundError:
        # Neither a configuration nor a manifest holds a secret, and kube-scheduler need not run as root.
        os.fchmod(descriptor, 0o644)
        return
    os.fchmod(descriptor, before.st_mode & 0o7777)
    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(descriptor, before.st_uid, before.st_gid)


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SettingError(f"{str(path)!r:.200} cannot be read ({reason}): name a file that can.") from None
    if len(content) > LARGEST:
        raise SettingError(f"{path} has more than 1 MiB: a manifest is far smaller; name another file.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingError(
            f"{path} is no text (byte {error.start} is not UTF-8): name a YAML file in UTF-8."
        ) from None
