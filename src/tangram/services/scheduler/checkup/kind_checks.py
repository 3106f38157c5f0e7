"""The kind `Device`: whether the API server knows it, whose it is, and whether it can hold what is written.

Whoever installed it changes it, so nothing here proposes to replace a definition of somebody else's. An older one is
enough to serve; what it has no field for is dropped on the way in, and that is worth a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.services.scheduler.checkup.naming import Object, annotations_of, labels_of, some_of, written_by
from tangram.services.scheduler.checkup.parts import Part
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.services.scheduler.settings import KOORDINATOR_NAME
from tangram.wire import loose
from tangram.wire.koordinator.definition import FILE, NAME, OURS_LABEL, OURS_VALUE, VERSION, device_definition

CHECK: Final = "device-kind"
_RELEASE: Final = "meta.helm.sh/release-name"
_RELEASE_PLACE: Final = "meta.helm.sh/release-namespace"
_KOORDINATORS: Final = (Part.KOORD_SCHEDULER, Part.KOORD_MANAGER, Part.KOORDLET)


def device_kind(scene: Scene) -> Findings:
    """One finding about whose it is, and one for each thing it lacks."""
    if scene.device_kind.unknown:
        yield skip(
            CHECK,
            f"the definition of {NAME} may not be read ({scene.device_kind.unknown})",
            "ask with more rights",
        )
        return
    if not scene.device_kind.items:
        yield from _absent(scene)
        return
    definition = scene.device_kind.items[0]
    version = _version(definition)
    if version is None:
        yield fail(
            CHECK,
            f"{NAME} is there and does not serve {VERSION}, which koordlet, koord-scheduler and Tangram's agent write",
            f"upgrade Koordinator, or delete the definition if nobody uses it and apply {FILE}",
        )
        return
    yield from _owner(scene, definition)
    lacking = list(_lacking(version))
    if lacking:
        yield warn(
            CHECK,
            f"{NAME} is older than Tangram's: it has no {some_of(lacking)}, which is dropped when a Device is written",
            "upgrade the definition with whoever installed it; until then the rest of each Device works as it is",
        )


def koordinator_is_used(scene: Scene) -> bool:
    """Whether a part of Koordinator runs, or a pod names its scheduler."""
    return any(scene.pods.running(part) for part in _KOORDINATORS) or any(
        pod.scheduler == KOORDINATOR_NAME for pod in scene.pods.asking
    )


def _absent(scene: Scene) -> Findings:
    if koordinator_is_used(scene):
        yield fail(
            CHECK,
            f"Koordinator is used here and the API server has no kind {NAME}, so koord-scheduler knows of no card",
            f"install Koordinator with its definitions, or apply {FILE}",
        )
    else:
        yield ok(CHECK, f"there is no kind {NAME}, which only Koordinator needs")


def _owner(scene: Scene, definition: Object) -> Findings:
    release = annotations_of(definition).get(_RELEASE, "")
    if release:
        place = annotations_of(definition).get(_RELEASE_PLACE, "")
        yield ok(CHECK, f"{NAME} belongs to Helm release {place}/{release}, and Tangram leaves it alone")
    elif labels_of(definition).get(OURS_LABEL) != OURS_VALUE:
        by = written_by(definition, "spec")
        yield ok(CHECK, f"{NAME} was installed by somebody else{by}, and Tangram leaves it alone")
    elif any(scene.pods.running(part) for part in _KOORDINATORS):
        yield warn(
            CHECK,
            f"{NAME} is Tangram's and Koordinator runs here: Helm refuses to install or upgrade Koordinator over it",
            "hand it over: helm upgrade --take-ownership, or label it app.kubernetes.io/managed-by=Helm and annotate "
            f"it {_RELEASE} and {_RELEASE_PLACE}",
        )
    else:
        yield ok(CHECK, f"{NAME} is Tangram's")


def _version(definition: Object) -> Mapping[str, object] | None:
    for each in loose.elements(loose.members(definition.get("spec")).get("versions")):
        version = loose.members(each)
        if version.get("name") == VERSION and version.get("served") is True:
            return version
    return None


def _lacking(version: Mapping[str, object]) -> Iterator[str]:
    """Fields of a card that ours has and this one has not; nothing where everything is kept."""
    theirs = _card_fields(version)
    ours = _card_fields(loose.members(device_definition()["spec"]["versions"][0]))
    if theirs is not None and ours is not None:
        yield from sorted(ours.keys() - theirs.keys())


def _card_fields(version: Mapping[str, object]) -> Mapping[str, object] | None:
    schema: object = loose.members(version.get("schema")).get("openAPIV3Schema")
    for step in ("properties", "spec", "properties", "devices", "items"):
        if loose.members(schema).get("x-kubernetes-preserve-unknown-fields") is True:
            return None
        schema = loose.members(schema).get(step)
    fields = loose.members(schema)
    return (
        None
        if fields.get("x-kubernetes-preserve-unknown-fields") is True
        else loose.members(fields.get("properties"))
    )
