"""The file that tells kube-scheduler about gpu-aware, with the keys and values of MetaX's manual.

Only the API version differs: it is the newest that the kube-scheduler in question reads, because one that does not know
the version of its file ends, and no pod of the cluster is placed any more. A file that says more than we would write
belongs to a person, and is never replaced.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from tangram.wire import loose
from tangram.wire.errors import WireError, shown
from tangram.wire.kube_scheduler_version import Minor, api_version_for, api_versions_read

Object = dict[str, Any]

GROUP: Final = "kubescheduler.config.k8s.io"
KIND: Final = "KubeSchedulerConfiguration"
USUAL_KUBECONFIG: Final = "/etc/kubernetes/scheduler.conf"
WEIGHT: Final = 500
"""Times ten points at most, this outweighs all that kube-scheduler's own plugins say of a node."""

_HTTPS: Final = "https://"
_URL = re.compile(
    r"https?://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._/-]*)?"
)
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9._/-]*")


def checked_url(text: str) -> str:
    """The address of gpu-aware as kube-scheduler takes it. Raises `WireError`."""
    if not _URL.fullmatch(text):
        raise WireError(
            "extender-url",
            f"the extender's address is {shown(text)}: it is http:// or https://, a name or an address, and a port; "
            "write for example http://10.96.0.20:8080",
        )
    return text.rstrip("/")


def configuration(url: str, kubeconfig: str, scheduler: Minor) -> Object:
    """The whole configuration as an object, for a kube-scheduler of that version. Raises `WireError`."""
    return _configuration(url, kubeconfig, api_version_for(scheduler))


def _configuration(url: str, kubeconfig: str, api_version: str) -> Object:
    extender = {
        "urlPrefix": url,
        "enableHTTPS": url.startswith(_HTTPS),
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "nodeCacheCapable": False,
        "ignorable": False,
        "weight": WEIGHT,
    }
    return {
        "apiVersion": f"{GROUP}/{api_version}",
        "kind": KIND,
        "clientConnection": {"kubeconfig": kubeconfig},
        "extenders": [extender],
    }


def configuration_text(url: str, kubeconfig: str, scheduler: Minor) -> str:
    """The same as the YAML that is written. Raises `WireError`."""
    made = configuration(url, kubeconfig, scheduler)
    first, *rest = made["extenders"][0].items()
    lines = [
        f"apiVersion: {made['apiVersion']}",
        f"kind: {made['kind']}",
        "clientConnection:",
        f"  kubeconfig: {_scalar(kubeconfig)}",
        "extenders:",
        f"  - {first[0]}: {_scalar(first[1])}",
        *(f"    {key}: {_scalar(value)}" for key, value in rest),
    ]
    return "\n".join(lines) + "\n"


def url_of_ours(found: object) -> str | None:
    """Where a configuration, parsed, sends pods to gpu-aware; None for one that does not."""
    if loose.members(found).get("kind") != KIND:
        return None
    for each in loose.elements(loose.members(found).get("extenders")):
        extender = loose.members(each)
        if (extender.get("filterVerb"), extender.get("prioritizeVerb")) == ("filter", "prioritize"):
            return loose.text(extender.get("urlPrefix")) or None
    return None


def is_just_ours(found: object, url: str) -> bool:
    """Whether a configuration, parsed, says nothing that we, or who followed the manual, would not have written."""
    kubeconfig = loose.text(loose.members(loose.members(found).get("clientConnection")).get("kubeconfig"))
    return any(found == _configuration(url, kubeconfig, version) for version in api_versions_read())


def is_best(found: object, scheduler: Minor) -> bool:
    """Whether the configuration has the API version that we would write for that kube-scheduler."""
    return loose.members(found).get("apiVersion") == f"{GROUP}/{api_version_for(scheduler)}"


def is_read(found: object, scheduler: Minor) -> bool:
    """Whether that kube-scheduler reads the configuration's API version."""
    written = loose.members(found).get("apiVersion")
    return written in {f"{GROUP}/{version}" for version in api_versions_read(scheduler)}


def _scalar(value: object) -> str:
    if isinstance(value, str) and (_PLAIN.fullmatch(value) or _URL.fullmatch(value)):
        return value
    # JSON's texts, numbers and truth values are YAML's too.
    return msgspec.json.encode(value).decode()
