"""MXMACA on the host: one folder for each payload, side by side, and a link to the one that is usual.

The first payload that is for this node (`maca_choosing`) is the usual one. What the host itself has under /opt/maca, a
folder or a link of its own, stays as it is, and so do its own folders: whoever installed MXMACA by hand chose it.
Folders of ours that no payload names any more go by the clean-up policy, and never while anybody uses them: a container
has the folder mounted that the link led to when it was started.

Everything here blocks and belongs on a thread. It keeps no journal: a folder is whole or not there, and so is a link.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.journal import STATE
from tangram.services.driver_manager.leftovers import remove_all, remove_old
from tangram.services.driver_manager.problems import Problem, ProblemError, problem_of_files
from tangram.services.driver_manager.staged import Ground, Staged, find
from tangram.services.driver_manager.unpacking import (
    OPT,
    Installed,
    Owner,
    discard,
    folder_name,
    installed_in,
    link_state,
    point,
    tidy,
    unpack,
    unpoint,
)
from tangram.services.driver_manager.versions import version_key
from tangram.vendors.metax.maca_images import MacaImage, read_maca_image
from tangram.wire.operator import names
from tangram.wire.operator.node_states import MacaState, Phase
from tangram.wire.operator.payloads import PayloadKind, payload_folder

_MACA: Final = PayloadKind.MACA


class Cleanup(StrEnum):
    """Which versions of ours that no payload names any more go first, once there are more than are kept."""

    NEVER = "Never"
    OLDER_VERSION_FIRST = "OlderVersionFirst"
    OLDER_TIMESTAMP_FIRST = "OlderTimestampFirst"


class MacaSettings(msgspec.Struct, frozen=True, kw_only=True):
    payloads: Path
    images: tuple[MacaImage, ...] = ()
    """For all nodes of the release."""
    driver_image: str = ""
    """The payload of the driver lies beside those of MXMACA."""
    cleanup: Cleanup = Cleanup.NEVER
    keep: int = 5


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    state: MacaState
    ready: bool | None
    """None where the node should not say."""


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """One payload, and whether its version is there."""

    image: str
    version: str = ""
    staged: Staged | None = None
    problem: Problem | None = None
    is_there: bool = False


class Maca:
    """For one thread at a time."""

    def __init__(
        self, disk: Disk, settings: MacaSettings, ground: Callable[[], Ground], in_use: Callable[[str], str]
    ) -> None:
        self._disk = disk
        self._settings = settings
        self._ground = ground
        self._in_use = in_use

    def tidy(self) -> None:
        """Throw away what was under way when somebody was killed. Raises `ProblemError`."""
        try:
            tidy(self._disk, _MACA, self._in_use)
        except OSError as error:
            raise problem_of_files(error, f"what was left half done in {OPT} cannot be removed") from error

    def look(self, images: Sequence[str]) -> tuple[_Found, ...]:
        """The payloads of these images, in their order. Raises `ProblemError`."""
        try:
            return self._look(images)
        except OSError as error:
            raise problem_of_files(error, f"MXMACA in {OPT} cannot be looked at") from error

    def _look(self, images: Sequence[str]) -> tuple[_Found, ...]:
        there = installed_in(self._disk, _MACA)
        found: list[_Found] = []
        for image in images:
            one = self._find(image, there)
            if one.version and any(other.version == one.version for other in found):
                why = (
                    f"the payloads {image} and another one both bring MXMACA {one.version}: name one of them"
                )
                one = msgspec.structs.replace(one, staged=None, problem=Problem("maca-version-twice", why))
            found.append(one)
        return tuple(found)

    def missing(self, found: Sequence[_Found]) -> Staged | None:
        """The first payload that can be installed and is not."""
        return next((one.staged for one in found if one.staged is not None and not one.is_there), None)

    def install(self, staged: Staged) -> None:
        """Raises `ProblemError`."""
        unpack(self._disk, staged)

    def settle(self, found: Sequence[_Found], trouble: Problem | None = None) -> Outcome:
        """Link what is usual, throw away what is old, and say how things stand. Raises `ProblemError`."""
        try:
            return self._settle(found, trouble)
        except OSError as error:
            raise problem_of_files(error, f"{names.MACA_LINK} could not be changed") from error

    def remove(self) -> Outcome:
        """Take away everything of ours. Raises `ProblemError`."""
        try:
            left = self._remove()
        except OSError as error:
            raise problem_of_files(error, "MXMACA could not be removed") from error
        code = "left" if left else ""
        return Outcome(state=MacaState(phase=Phase.REMOVED, code=code, why="; ".join(left)), ready=None)

    def _find(self, image: str, there: dict[str, Installed]) -> _Found:
        try:
            staged = find(self._settings.payloads, image, _MACA, self._ground())
        except ProblemError as error:
            return _Found(image=image, problem=error.problem)
        version = staged.version
        name = folder_name(_MACA, version)
        if version not in there:
            if self._disk.is_there(f"{OPT}/{name}"):
                why = f"{OPT}/{name} is the host's own and is used as it is, instead of the payload {image}"
                return _Found(
                    image=image, version=version, is_there=True, problem=Problem("maca-of-host", why)
                )
            return _Found(image=image, version=version, staged=staged)
        problem = None
        if there[version].digest != staged.digest:
            if _of_another_product(there[version].image, image):
                return self._replacing(image, staged)
            why = (
                f"the payload {image} has version {version} as what is installed, and other content: it stays as it "
                "is; give a changed MXMACA another version"
            )
            problem = Problem("payload-changed", why)
        return _Found(image=image, version=version, staged=staged, is_there=True, problem=problem)

    def _replacing(self, image: str, staged: Staged) -> _Found:
        """The cards of this node were exchanged for those of another product: its folder goes once it is unused."""
        name = folder_name(_MACA, staged.version)
        user = self._in_use(name)
        if not user:
            return _Found(image=image, version=staged.version, staged=staged)
        why = (
            f"{OPT}/{name} is of another product than the cards of this node now, and {user} uses it: when that has "
            f"ended, the payload {image} takes its place"
        )
        return _Found(image=image, version=staged.version, problem=Problem("maca-of-other-cards", why))

    def _settle(self, found: Sequence[_Found], trouble: Problem | None) -> Outcome:
        usual = found[0] if found else None
        link = link_state(self._disk, _MACA)
        remark: Problem | None = None
        if usual is not None and link.owner is Owner.HOST:
            why = f"{names.MACA_LINK} is the host's own and stays; containers see it as it is"
            remark = Problem("maca-of-host", why)
        elif usual is not None and usual.is_there and link.version != usual.version:
            point(self._disk, _MACA, usual.version)
        elif usual is None and link.owner is Owner.OURS:
            unpoint(self._disk, _MACA)
        self._clean_up({one.version for one in found})
        if all(one.is_there for one in found):
            wanted = filter(None, (*(one.image for one in found), self._settings.driver_image))
            remove_old(self._settings.payloads, frozenset(map(payload_folder, wanted)), time.time())
        link = link_state(self._disk, _MACA)
        problems = [one.problem for one in found if one.problem is not None and not one.is_there]
        remarks = [one.problem for one in found if one.problem is not None and one.is_there]
        said = next((each for each in (trouble, *problems, remark, *remarks) if each is not None), None)
        missing = [one for one in found if not one.is_there]
        waits = said is not None and said.code == "payload-absent"
        phase = Phase.READY if not missing else Phase.WAITING if waits or said is None else Phase.FAILED
        ready = usual is not None and (usual.is_there or link.owner is Owner.HOST)
        versions = tuple(one.version for one in found if one.is_there)
        state = MacaState(
            phase=phase,
            versions=versions,
            default=link.version if link.owner is Owner.OURS else "",
            code="" if said is None else said.code,
            why="" if said is None else said.why,
        )
        return Outcome(state=state, ready=ready if found else None)

    def _clean_up(self, listed: set[str]) -> None:
        there = installed_in(self._disk, _MACA)
        surplus = len(there) - self._settings.keep
        if self._settings.cleanup is Cleanup.NEVER or surplus <= 0:
            return
        linked = link_state(self._disk, _MACA).version
        old = [version for version in there if version not in listed and version != linked]
        for version in sorted(old, key=self._age):
            if surplus > 0 and not self._discard(version):
                surplus -= 1

    def _age(self, version: str) -> tuple[object, ...]:
        if self._settings.cleanup is Cleanup.OLDER_TIMESTAMP_FIRST:
            return (self._disk.at(f"{OPT}/{folder_name(_MACA, version)}").stat().st_mtime, version)
        return version_key(version)

    def _discard(self, version: str) -> str:
        """Who keeps it from being thrown away; empty when it is gone."""
        name = folder_name(_MACA, version)
        user = self._in_use(name)
        if user:
            return user
        # Whoever begins to use it now fails and is tried again by the kubelet; whoever just did is seen below.
        gone = f".{name}.gone"
        self._disk.remove_tree(f"{OPT}/{gone}")
        self._disk.rename(f"{OPT}/{name}", f"{OPT}/{gone}")
        user = self._in_use(name)
        if user:
            self._disk.rename(f"{OPT}/{gone}", f"{OPT}/{name}")
            return user
        self._disk.remove_tree(f"{OPT}/{gone}")
        discard(self._disk, name)
        return ""

    def _remove(self) -> list[str]:
        unpoint(self._disk, _MACA)
        tidy(self._disk, _MACA, self._in_use)
        left: list[str] = []
        for version in installed_in(self._disk, _MACA):
            user = self._discard(version)
            if user:
                left.append(f"{OPT}/{folder_name(_MACA, version)} stays, {user} uses it")
        remove_all(self._settings.payloads)
        self._disk.remove_folder(STATE)
        return left


def _of_another_product(installed: str, wanted: str) -> bool:
    """By their names; where one is not known, nothing is."""
    was, now = read_maca_image(installed), read_maca_image(wanted)
    return was is not None and now is not None and was.is_for_other_chips(now)
