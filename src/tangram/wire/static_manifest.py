"""kube-scheduler's static manifest: what of it matters to an extra configuration file, and what such a file adds.

Three entries are added: an argument, a mount and a volume, under the names of MetaX's manual. Anything in the manifest
that this module does not expect (another configuration, a second container, a shell around the program) is refused with
a sentence: a kube-scheduler that does not come back stops every pod of a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tangram.wire import loose
from tangram.wire.errors import WireError, shown

PROGRAM: Final = "kube-scheduler"
NAME: Final = "extenderconfig"
CONFIG_FLAG: Final = "--config"
KUBECONFIG_FLAG: Final = "--kubeconfig"

_CONTAINER: Final = ("spec", "containers", 0)
_PATH = re.compile(r"(?:/[A-Za-z0-9_.-]+)+")
_BY_HAND: Final = "change the manifest by hand"


class Entry(msgspec.Struct, frozen=True):
    """One thing that the configuration needs in one of the manifest's lists."""

    where: tuple[str | int, ...]
    """The way to the map that has the list."""
    field: str
    places: tuple[int, ...]
    """Where it stands in the list; nowhere when it has to be added."""
    value: object
    lines: tuple[str, ...]
    """The same as YAML."""


class SchedulerPod(msgspec.Struct, frozen=True, kw_only=True):
    image: str
    """Of the container, as it is written; empty where it is not."""
    kubeconfig: str | None
    """Where kube-scheduler's own flags say that its kubeconfig is."""
    entries: tuple[Entry, ...]

    @property
    def untouched(self) -> bool:
        return not any(entry.places for entry in self.entries)


def checked_path(text: str) -> str:
    """A path that can stand in a flag, a mount and a volume as it is. Raises `WireError`."""
    if not _PATH.fullmatch(text):
        raise WireError(
            "config-path",
            f"the configuration is to be {shown(text)}: it is a whole path of letters, digits, dots, dashes and "
            "slashes; write for example /etc/metax/extender.yaml",
        )
    return text


def read_scheduler_pod(manifest: object, path: str) -> SchedulerPod:
    """What a parsed manifest has and lacks for the configuration at `path`. Raises `WireError`."""
    spec = loose.members(loose.members(manifest).get("spec"))
    if loose.members(manifest).get("kind") != "Pod":
        kind = shown(loose.members(manifest).get("kind"))
        raise refusal(f"its kind is {kind}: a static manifest is a Pod; name {PROGRAM}'s")
    containers = loose.elements(spec.get("containers"))
    if len(containers) != 1:
        raise refusal(f"it has {len(containers)} containers: {PROGRAM}'s has one; {_BY_HAND}")
    container = loose.members(containers[0])
    field = _flags_field(container)
    words = _texts(container.get(field), field)
    return SchedulerPod(
        image=loose.text(container.get("image")),
        kubeconfig=_value(words, KUBECONFIG_FLAG),
        entries=(
            _flag(words, field, path),
            _mount(container.get("volumeMounts"), path),
            _volume(spec.get("volumes"), path),
        ),
    )


def refusal(sentence: str) -> WireError:
    """Why a manifest is left alone."""
    return WireError("manifest-not-understood", f"the manifest is not one that can be changed: {sentence}")


def _flag(words: Sequence[str], field: str, path: str) -> Entry:
    present = _value(words, CONFIG_FLAG)
    if present is not None and present != path:
        raise refusal(
            f"it has {CONFIG_FLAG}={present:.200} already, and {PROGRAM} reads one configuration: "
            "name that one with --config if it is gpu-aware's, or add the extender to it"
        )
    value = f"{CONFIG_FLAG}={path}"
    return Entry(_CONTAINER, field, _places(words, CONFIG_FLAG), value, (f"- {value}",))


def _mount(written: object, path: str) -> Entry:
    value = {"mountPath": path, "name": NAME, "readOnly": True}
    lines = (f"- mountPath: {path}", f"  name: {NAME}", "  readOnly: true")
    places = _same(written, value, "mount", ("name", "mountPath"))
    return Entry(_CONTAINER, "volumeMounts", places, value, lines)


def _volume(written: object, path: str) -> Entry:
    value = {"hostPath": {"path": path, "type": "File"}, "name": NAME}
    lines = ("- hostPath:", f"    path: {path}", "    type: File", f"  name: {NAME}")
    return Entry(("spec",), "volumes", _same(written, value, "volume", ("name",)), value, lines)


def _same(
    written: object, wanted: Mapping[str, object], what: str, telling: Sequence[str]
) -> tuple[int, ...]:
    """Where the list has ours; one that merely shares its name or place is refused."""
    for place, entry in enumerate(map(loose.members, loose.elements(written))):
        if entry == wanted:
            return (place,)
        if any(entry.get(key) == wanted[key] for key in telling):
            raise refusal(f"it has a {what} {NAME} that is another one than ours: remove that, or {_BY_HAND}")
    return ()


def _places(words: Sequence[str], flag: str) -> tuple[int, ...]:
    """Where a flag and its value stand: in one word, in two, or nowhere."""
    for place, word in enumerate(words):
        if word.startswith(f"{flag}="):
            return (place,)
        if word == flag:
            return tuple(range(place, min(place + 2, len(words))))
    return ()


def _value(words: Sequence[str], flag: str) -> str | None:
    places = _places(words, flag)
    return words[places[-1]].removeprefix(f"{flag}=") if places else None


def _flags_field(container: Mapping[str, object]) -> str:
    command, args = (_texts(container.get(field), field) for field in ("command", "args"))
    image = loose.text(container.get("image")).partition("@")[0].rpartition("/")[2].partition(":")[0]
    program = command[0] if command else image
    if program.rpartition("/")[2] != PROGRAM:
        raise refusal(f"it runs {shown(program)} and not {PROGRAM}: name {PROGRAM}'s manifest")
    return "args" if args or not command else "command"


def _texts(written: object, field: str) -> list[str]:
    words = loose.elements(written)
    if (written is not None and not loose.is_list(written)) or any(
        not isinstance(word, str) for word in words
    ):
        raise refusal(f"the container's {field} is {shown(written)}: it is a list of texts; {_BY_HAND}")
    return [loose.text(word) for word in words]
