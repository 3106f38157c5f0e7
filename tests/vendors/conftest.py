"""Pods in few words. Tests here say what a container's limits and a pod's annotations are, and look at the answer."""

from collections.abc import Callable

import pytest

from tangram.model.pods import Container, Pod, PodRef
from tangram.units.ids import Namespace, PodName, PodUid
from tangram.vendors.admission import Admission, admit
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings


@pytest.fixture
def pod_of() -> Callable[..., Pod]:
    def build(*containers: Container, annotations: dict[str, str] | None = None) -> Pod:
        ref = PodRef(Namespace("default"), PodName("demo"), PodUid("uid-1"))
        return Pod(ref=ref, containers=containers, annotations=annotations or {})

    return build


@pytest.fixture
def admitted(pod_of: Callable[..., Pod]) -> Callable[..., Admission]:
    """Admit a pod with one container for each mapping of limits: main, second, third."""

    def answer(
        *limits: dict[str, str],
        annotations: dict[str, str] | None = None,
        settings: AdmissionSettings = DEFAULT_SETTINGS,
    ) -> Admission:
        names = ("main", "second", "third")
        containers = [Container(name, limits=each) for name, each in zip(names, limits, strict=False)]
        return admit(pod_of(*containers, annotations=annotations), settings)

    return answer
