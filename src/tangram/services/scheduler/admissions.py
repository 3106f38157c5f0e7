"""What each pod asks for, read once per kind of pod.

A job's thousand replicas are one text with a thousand names. Reading one of them costs more than placing it, so pods
that differ only in name share a reading; what admission does not look at, such as what was written at bind, is left
out of the comparison.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.model.pods import Pod
from tangram.vendors.admission import Admission, admit
from tangram.vendors.annotation_keys import READ_AT_ADMISSION
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings

MOST_KINDS: Final = 4096

_encode = msgspec.json.Encoder().encode


class Admissions:
    """`of` a pod; the settings may change, and what was read under the old ones is forgotten."""

    def __init__(self, settings: AdmissionSettings = DEFAULT_SETTINGS) -> None:
        self._settings = settings
        self._kinds: dict[bytes, Admission] = {}

    @property
    def settings(self) -> AdmissionSettings:
        return self._settings

    @settings.setter
    def settings(self, settings: AdmissionSettings) -> None:
        if settings != self._settings:
            self._settings = settings
            self._kinds.clear()

    def of(self, pod: Pod) -> Admission:
        if pod.problems:
            # Their sentences may name the pod.
            return admit(pod, self._settings)
        key = _kind_of(pod)
        found = self._kinds.get(key)
        if found is None:
            found = admit(pod, self._settings)
            if found.refusals:
                return found
            if len(self._kinds) >= MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]
            self._kinds[key] = found
        if found.request is None or found.request.pod == pod.ref:
            return found
        return msgspec.structs.replace(found, request=msgspec.structs.replace(found.request, pod=pod.ref))


def _kind_of(pod: Pod) -> bytes:
    read = {key: value for key, value in pod.annotations.items() if key in READ_AT_ADMISSION}
    # Of a pod that is bound, how it wanted to be placed is not looked at any more.
    bound = pod.node_name is not None
    return _encode((pod.containers, sorted(read.items()), pod.placing, pod.priority, pod.hints, bound))
