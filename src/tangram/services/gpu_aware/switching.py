"""Switching gpu-aware on and off in a kube-scheduler: which files would change, and to what.

Nothing is written here. Both directions end with whole new contents, so that they can be shown before anything happens,
and asking for what is already so changes nothing. Switching off gives back the very bytes from before if nobody touched
the manifest since, and else takes out our own lines.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Final

import msgspec

from tangram.daemon.yaml_text import UnreadableYaml, parse_document
from tangram.services.gpu_aware.manifest_lines import disabled, enabled, read_manifest
from tangram.wire.errors import WireError
from tangram.wire.kube_scheduler_version import Minor, api_version_for, read_version, version_of_image
from tangram.wire.kubescheduler_config import (
    GROUP,
    USUAL_KUBECONFIG,
    checked_url,
    configuration_text,
    is_best,
    is_just_ours,
    is_read,
    url_of_ours,
)
from tangram.wire.static_manifest import checked_path

USUAL_CONFIG: Final = "/etc/metax/extender.yaml"
_BACKUP: Final = ".before-gpu-aware"
_NOT_RESTARTED: Final = (
    "kube-scheduler reads {} only when it starts, and its manifest stays as it was: stop its container with crictl, "
    "and the kubelet starts it again"
)


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """What is there now; None for a file that is not."""

    manifest_path: Path
    manifest: str
    config_path: str
    config: str | None = None
    backup: str | None = None

    @property
    def backup_path(self) -> Path:
        return backup_path(self.manifest_path, self.config_path)


class Change(msgspec.Struct, frozen=True):
    path: Path
    before: str | None
    after: str | None
    """None: the file goes."""


class Plan(msgspec.Struct, frozen=True):
    """What to do, in an order in which the manifest never names a file that is not there."""

    shown: tuple[Change, ...] = ()
    """Configuration and manifest."""
    unshown: tuple[Change, ...] = ()
    """The copy of the manifest as it was before."""
    remark: str = ""

    def patch(self) -> str:
        """The shown changes as `patch -p1 -d /` takes them."""
        return "".join(_diff(change) for change in self.shown)


def backup_path(manifest: Path, config: str) -> Path:
    """Beside the configuration: the kubelet would run whatever lies beside the manifest."""
    return Path(config).parent / f"{manifest.name}{_BACKUP}"


def switch_on(files: Files, url: str | None, version: str | None = None) -> Plan:
    """Make kube-scheduler ask gpu-aware. Raises `WireError`.

    `version` is kube-scheduler's as a person has written it, and counts before what the manifest's image says.
    """
    _check_places(files)
    pod = read_manifest(files.manifest, files.config_path)
    manifest = enabled(files.manifest, files.config_path)
    scheduler = version_of_image(pod.image) if version is None else read_version(version)
    config = _config(files, url, pod.kubeconfig or USUAL_KUBECONFIG, scheduler)
    shown: list[Change] = []
    if config != files.config:
        shown.append(Change(Path(files.config_path), files.config, config))
    if manifest == files.manifest:
        return Plan(tuple(shown), remark=_NOT_RESTARTED.format(files.config_path) if shown else "")
    shown.append(Change(files.manifest_path, files.manifest, manifest))
    kept = Change(files.backup_path, files.backup, files.manifest)
    return Plan(tuple(shown), (kept,) if pod.untouched else ())


def switch_off(files: Files) -> Plan:
    """Make kube-scheduler ask it no more. Raises `WireError`."""
    _check_places(files)
    pod = read_manifest(files.manifest, files.config_path)
    if pod.untouched:
        return Plan()
    remark = f"{files.config_path} stays; nothing uses it any more" if files.config is not None else ""
    exact = files.backup is not None and _was(files.backup, files)
    after = files.backup if exact else disabled(files.manifest, files.config_path)
    gone = (Change(files.backup_path, files.backup, None),) if exact else ()
    return Plan((Change(files.manifest_path, files.manifest, after),), gone, remark)


def _check_places(files: Files) -> None:
    checked_path(files.config_path)
    if Path(files.config_path).parent == files.manifest_path.parent:
        raise WireError(
            "config-path",
            f"the configuration is to be {files.config_path}, beside the manifest, where the kubelet takes every file "
            f"for a pod; name another folder, as in {USUAL_CONFIG}",
        )


def _was(backup: str, files: Files) -> bool:
    """Whether the manifest is what switching on made of the backup."""
    try:
        return enabled(backup, files.config_path) == files.manifest
    except WireError:
        return False


def _config(files: Files, url: str | None, kubeconfig: str, scheduler: Minor) -> str:
    wanted = None if url is None else checked_url(url)
    if files.config is None:
        if wanted is None:
            raise WireError(
                "extender-url",
                "no address of gpu-aware is given and there is no configuration yet that has one; write --extender-url "
                "http://ADDRESS:8080 with the address that 'kubectl get services -A' shows for gpu-aware-service",
            )
        return configuration_text(wanted, kubeconfig, scheduler)
    present = _parsed_config(files)
    known = url_of_ours(present)
    if known is None:
        raise WireError(
            "config-of-others",
            f"{files.config_path} exists and does not send pods to gpu-aware: it is somebody's own; name another file "
            "with --config, or add the extender to it",
        )
    if is_just_ours(present, known):
        if is_best(present, scheduler) and wanted in (None, known):
            return files.config
        return configuration_text(wanted or checked_url(known), kubeconfig, scheduler)
    if not is_read(present, scheduler):
        raise WireError(
            "config-of-others",
            f"{files.config_path} says more than we wrote, and kube-scheduler {scheduler[0]}.{scheduler[1]} does not "
            f"read its apiVersion: write apiVersion: {GROUP}/{api_version_for(scheduler)} there by hand, or remove it",
        )
    if wanted not in (None, known):
        raise WireError(
            "config-of-others",
            f"{files.config_path} sends pods to {known} and says more than we wrote: change its urlPrefix by hand, or "
            "remove it",
        )
    return files.config


def _parsed_config(files: Files) -> object:
    try:
        return parse_document(files.config or "")
    except UnreadableYaml as error:
        raise WireError(
            "config-of-others",
            f"{files.config_path} exists and cannot be read ({error}): correct it, or name another file with --config",
        ) from None


def _diff(change: Change) -> str:
    before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
    old, new = ("/dev/null" if text is None else str(change.path) for text in (change.before, change.after))
    lines = difflib.unified_diff(before, after, old, new)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
