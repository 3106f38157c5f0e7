"""What one pod looks like from outside: its containers as the runtime has them, and why those that wait do so."""

from __future__ import annotations

from tangram.kube.objects import Object
from tangram.sandbox.nodes.containers import Ended, moment_in
from tangram.sandbox.nodes.pod_specs import Container, containers_of, kubelet_uid
from tangram.sandbox.nodes.pod_statuses import CREATING, INITIALIZING, Frame, Sight, status_of
from tangram.sandbox.nodes.ward import Ward
from tangram.wire import loose


class PodView:
    """Changed by whoever runs the pod; `status` is what follows from it."""

    def __init__(self, pod: Object, ward: Ward) -> None:
        self._ward = ward
        status, spec = loose.members(pod.get("status")), loose.members(pod.get("spec"))
        self.started_at = moment_in(status.get("startTime"), ward.now())
        own = ward.host_ip if loose.flag(spec.get("hostNetwork")) is True else ""
        self.ip = own or loose.text(status.get("podIP")) or ward.next_ip()
        self.waiting: dict[str, tuple[str, str]] = {}
        """By container, the word and the sentence for why it waits, where that is not the usual."""
        self.reason = self.message = ""
        """Why the pod was ended, where its containers do not say it."""
        self.over = False

    def status(self, pod: Object, written: Object | None) -> Object:
        """The status as it should be now, given what was written last."""
        frame = Frame(
            host_ip=self._ward.host_ip,
            pod_ip=self.ip,
            started_at=self.started_at,
            over=self.over,
            reason=self.reason,
            message=self.message,
        )
        known = written or loose.members(pod.get("status"))
        before = [dict(loose.members(each)) for each in loose.elements(known.get("conditions"))]
        sights = [self._sight(pod, each) for each in containers_of(pod)]
        return status_of(pod, sights, frame, before, self._ward.now())

    def ended(self, pod: Object, container: Container) -> Ended | None:
        """How the present run of a container ended, if it did."""
        run = self._ward.containers.record(kubelet_uid(pod), container.name).current
        return None if run is None else run.ended

    def _sight(self, pod: Object, container: Container) -> Sight:
        record = self._ward.containers.record(kubelet_uid(pod), container.name)
        run = record.current
        usual = CREATING if container.init or not self._initializing(pod) else INITIALIZING
        reason, message = self.waiting.get(container.name, (usual, ""))
        # One that waits to be started again shows its end as the last one.
        rests = container.name in self.waiting and run is not None and run.ended is not None
        return Sight(
            container=container,
            waiting=reason,
            message=message,
            id="" if run is None else run.id,
            running_since=None if run is None or rests else run.started_at,
            ended=None if run is None or rests else run.ended,
            last=run.ended if rests and run is not None else record.last,
            restarts=max(0, record.runs - 1),
            devices=self._devices(pod, container),
        )

    def _devices(self, pod: Object, container: Container) -> dict[str, list[tuple[str, bool]]]:
        devices = self._ward.devices
        return {
            each.resource: [(unit, devices.plugins.is_healthy(each.resource, unit)) for unit in each.ids]
            for each in devices.book.of_container(kubelet_uid(pod), container.name)
        }

    def _initializing(self, pod: Object) -> bool:
        return any(
            (ended := self.ended(pod, each)) is None or ended.exit_code != 0
            for each in containers_of(pod)
            if each.ends_first
        )
