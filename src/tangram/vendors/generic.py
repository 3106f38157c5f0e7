"""Cards of replayed traces: they have no words of their own and no size of slice is wrong."""

import msgspec

from tangram.model.cards import Vendor
from tangram.model.pods import Container, Pod
from tangram.units.memory import Bytes
from tangram.vendors.protocol import PodReading, Reading, RunningReading


class GenericRules(msgspec.Struct, frozen=True):
    """The `VendorRules` that never has anything to say."""

    @property
    def vendor(self) -> Vendor:
        return Vendor.GENERIC

    @property
    def resource_names(self) -> frozenset[str]:
        return frozenset()

    @property
    def koordinator_resource(self) -> str:
        return ""

    def read_container(self, pod: Pod, container: Container) -> Reading:
        del pod, container
        return Reading()

    def read_pod(self, pod: Pod, readings: tuple[Reading, ...]) -> PodReading:
        del pod, readings
        return PodReading()

    def read_running(self, pod: Pod) -> RunningReading:
        return RunningReading(asks=tuple(() for _ in pod.containers))

    def memory_tiers(self, memory: Bytes) -> tuple[Bytes, ...]:
        del memory
        return ()
