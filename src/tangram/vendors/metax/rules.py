"""MetaX's side of admission: its containers, then the annotations that concern its slices.

QoS and class are properties of a pod, not of a container. HAMi checks them once per container and skips QoS for
online pods even when it is nonsense; the result is the same here, but each fault is told once.
"""

from typing import Final

import msgspec

from tangram.model.cards import AppClass, QosPolicy, Vendor
from tangram.model.pods import Container, Pod
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import AskKind
from tangram.units.memory import Bytes
from tangram.vendors.amounts import names_any
from tangram.vendors.booleans import go_boolean
from tangram.vendors.card_lists import ListNames, needs_named_cards, read_card_lists
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.metax import names
from tangram.vendors.metax.containers import ALL_COMPUTE, read_container
from tangram.vendors.metax.maca import read_maca
from tangram.vendors.metax.products import CATALOGUE
from tangram.vendors.metax.running import read_running
from tangram.vendors.names import KOORDINATOR_CORE, KOORDINATOR_GPU
from tangram.vendors.policies import read_word
from tangram.vendors.protocol import PodReading, Reading, RunningReading, SetAnnotation
from tangram.vendors.wording import annotated, asked, sentence

_COMPUTE_WORDS: Final = (names.VCORE, KOORDINATOR_CORE, KOORDINATOR_GPU)
_LISTS = ListNames(
    use_uuids=names.USE_UUIDS,
    avoid_uuids=names.AVOID_UUIDS,
    use_products=names.USE_PRODUCTS,
    avoid_products=names.AVOID_PRODUCTS,
)
_QOS_TEXT = f"{names.QOS_POLICY} must be set one of [best-effort, fixed-share, burst-share]"
_CLASS_TEXT = f"{names.APP_CLASS} must be set one of [online, offline]"
_CLASS_COUNT_TEXT = "app-class pod must request single device"


class MetaxRules(msgspec.Struct, frozen=True):
    """MetaX's `VendorRules`."""

    largest_memory: Bytes | None = None
    """What the largest sliced card known of this vendor can slice; None while none is known."""
    usual_qos: QosPolicy = QosPolicy.BEST_EFFORT
    """What a pod gets that names no policy."""

    @property
    def vendor(self) -> Vendor:
        return Vendor.METAX

    @property
    def resource_names(self) -> frozenset[str]:
        return names.RESOURCES

    @property
    def koordinator_resource(self) -> str:
        return names.SGPU

    def read_container(self, pod: Pod, container: Container) -> Reading:
        return read_container(pod, container, self.largest_memory)

    def read_pod(self, pod: Pod, readings: tuple[Reading, ...]) -> PodReading:
        app_class = read_word(
            pod.annotations, names.APP_CLASS, AppClass, Code.APP_CLASS_UNKNOWN, peer=_CLASS_TEXT
        )
        online = app_class is AppClass.ONLINE
        qos = None if online else _qos(pod)
        zone_aware = go_boolean(pod.annotations, names.TOPOLOGY_AWARE)
        lists = read_card_lists(pod.annotations, _LISTS, CATALOGUE)
        maca = read_maca(pod.annotations)
        wide = () if app_class is None else _several_cards(pod, readings)
        if (
            isinstance(app_class, Refusal)
            or isinstance(qos, Refusal)
            or isinstance(zone_aware, Refusal)
            or isinstance(maca, Refusal)
            or wide
            or lists.refusals
        ):
            found = (app_class, *wide, qos, zone_aware, maca, *lists.refusals)
            return PodReading(refusals=tuple(finding for finding in found if isinstance(finding, Refusal)))
        sliced = any(names_any(container, (names.SGPU,)) for container in pod.containers)
        cautions = (
            *lists.cautions,
            *needs_named_cards(pod.annotations, _LISTS, readings),
            *_without_effect(pod, sliced=sliced, online=online),
        )
        if not sliced:
            return PodReading(cards=lists.cards, cautions=cautions)
        defaulted = qos is None and not online
        # Who writes the policy has chosen it.
        unlimited = defaulted and self.usual_qos is QosPolicy.BEST_EFFORT and pod.node_name is None
        return PodReading(
            cards=lists.cards,
            qos=self.usual_qos if defaulted else qos,
            app_class=app_class,
            zone_aware=zone_aware,
            cautions=(*cautions, *_unlimited(pod, readings)) if unlimited else cautions,
            mutations=(SetAnnotation(names.QOS_POLICY, self.usual_qos.value),) if defaulted else (),
        )

    def read_running(self, pod: Pod) -> RunningReading:
        return read_running(pod)

    def memory_tiers(self, memory: Bytes) -> tuple[Bytes, ...]:
        """MetaX slices may have any size, so there are none."""
        del memory
        return ()


def _qos(pod: Pod) -> QosPolicy | Refusal | None:
    return read_word(pod.annotations, names.QOS_POLICY, QosPolicy, Code.QOS_UNKNOWN, peer=_QOS_TEXT)


def _unlimited(pod: Pod, readings: tuple[Reading, ...]) -> tuple[Caution, ...]:
    """Of every container that states a part of a card's compute, that nothing keeps it to that part."""
    return tuple(
        Caution(
            CautionCode.COMPUTE_NOT_LIMITED,
            sentence(
                asked(container, *_COMPUTE_WORDS),
                f"a pod without a policy gets {QosPolicy.BEST_EFFORT}, which reserves that part of a card and limits"
                " nothing",
                f"annotate it with {names.QOS_POLICY}: {QosPolicy.FIXED_SHARE} (a limit) or {QosPolicy.BURST_SHARE}"
                " (a limit while others want the compute)",
            ),
            container.name,
        )
        for container, reading in zip(pod.containers, readings, strict=True)
        if any(ask.kind is AskKind.SLICE and 0 < (ask.cores or 0) < ALL_COMPUTE for ask in reading.asks)
    )


def _several_cards(pod: Pod, readings: tuple[Reading, ...]) -> tuple[Refusal, ...]:
    return tuple(
        Refusal(
            Code.APP_CLASS_SEVERAL_CARDS,
            sentence(
                f"{annotated(names.APP_CLASS, pod.annotations[names.APP_CLASS])} and container {container.name}"
                f" asks for slices of {ask.count} cards",
                "a container of such a pod has a slice of one card",
                f"write {names.SGPU}: 1, or remove the annotation",
                peer=_CLASS_COUNT_TEXT,
            ),
            container.name,
        )
        for container, reading in zip(pod.containers, readings, strict=True)
        for ask in reading.asks
        if ask.kind is AskKind.SLICE and ask.count != 1
    )


def _without_effect(pod: Pod, *, sliced: bool, online: bool) -> tuple[Caution, ...]:
    if sliced and not online:
        return ()
    keys = (names.QOS_POLICY,) if sliced else (names.QOS_POLICY, names.APP_CLASS, names.TOPOLOGY_AWARE)
    reason = "online pods share compute by priority alone" if sliced else f"the pod asks for no {names.SGPU}"
    return tuple(
        Caution(
            CautionCode.ANNOTATION_WITHOUT_EFFECT,
            sentence(
                annotated(key, pod.annotations[key]), f"it has no effect, because {reason}", "remove it"
            ),
        )
        for key in keys
        if key in pod.annotations
    )
