"""The pods that bring payload images to managed nodes: one container for each image, run by a program of ours.

MXMACA is made per product. So there is a DaemonSet for the driver and for images that serve every node, and one for
each product and architecture that images are named after: no node pulls gigabytes that its cards cannot use.

A payload image needs to hold nothing that runs. Its container is started with a small program which the init container
puts beside it; that copies the payload to the host, whole or not at all, and then waits. So the kubelet does all of the
pulling, with its credentials, mirrors and words for what went wrong, and an image stays on a node while it is wanted.

It has no account's powers and none of root's but to write into one folder. All nodes at once: one where an image cannot
be pulled must not keep it from the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.services.operator.parts import pods
from tangram.services.operator.parts.pods import Object, Pod, Site
from tangram.vendors.metax.maca_images import read_maca_image
from tangram.wire.operator.names import MACA_PRODUCT, PAYLOADS
from tangram.wire.operator.payloads import PayloadKind, payload_folder
from tangram.wire.operator.spec import Spec

NAME: Final = "payloads"
TOOL: Final = "/usr/lib/tangram/mx-payload"
TOOL_COPY: Final = "/tools/mx-payload"
_DRIVER: Final = "driver"
_MACA: Final = "maca"
_ARCHITECTURE: Final = "kubernetes.io/arch"


class Group(msgspec.Struct, frozen=True, order=True):
    """Nodes that get the same payloads; empty words are for all."""

    product: str = ""
    architecture: str = ""

    @property
    def word(self) -> str:
        """What it adds to the name of its DaemonSet."""
        return "-".join(filter(None, (self.product, self.architecture)))

    @property
    def nodes(self) -> dict[str, str]:
        """The labels that its nodes have."""
        own = {MACA_PRODUCT: self.product, _ARCHITECTURE: self.architecture}
        return {**pods.MANAGED_NODES, **{key: value for key, value in own.items() if value}}


def images(spec: Spec) -> dict[Group, dict[str, tuple[PayloadKind, str]]]:
    """What is staged for whom, by the name of its container."""
    found: dict[Group, dict[str, tuple[PayloadKind, str]]] = {}
    if spec.driver_image:
        found[Group()] = {_DRIVER: (PayloadKind.DRIVER, spec.driver_image)}
    for number, image in enumerate(spec.maca_images):
        read = read_maca_image(image)
        group = Group() if read is None else Group(read.product, read.architecture)
        found.setdefault(group, {})[f"{_MACA}-{number}"] = (PayloadKind.MACA, image)
    return dict(sorted(found.items()))


def part_of(component: str) -> str:
    """Which part a pod is of, by its label: this one's have a group's name after theirs."""
    return NAME if component.startswith(f"{NAME}-") else component


def manifests(spec: Spec, site: Site) -> tuple[Object, ...]:
    """A DaemonSet for each group of nodes."""
    return tuple(_daemon_set(group, staged, spec, site) for group, staged in images(spec).items())


def _daemon_set(
    group: Group, staged: Mapping[str, tuple[PayloadKind, str]], spec: Spec, site: Site
) -> Object:
    tool: Object = {
        "name": "tool",
        "image": site.image,
        "imagePullPolicy": spec.image.pull_policy,
        "command": [TOOL],
        "args": ["install-tool", "--to", TOOL_COPY],
        "resources": pods.resources({}, "10m", "32Mi"),
        "securityContext": _confined(),
        "volumeMounts": [pods.mount("tools", "/tools")],
    }
    pod = Pod(
        init_containers=[tool],
        containers=[_staging(name, kind, image, spec) for name, (kind, image) in staged.items()],
        volumes=[
            {"name": "tools", "emptyDir": {"sizeLimit": "64Mi"}},
            pods.host_folder("payloads", PAYLOADS),
        ],
        node_selector=group.nodes,
        grace=5,
        at_once="100%",
    )
    made = pods.daemon_set(NAME, spec, site, pod, group.word)
    # It asks the API server nothing, and what it runs beside is somebody else's image.
    made["spec"]["template"]["spec"]["automountServiceAccountToken"] = False
    return made


def _staging(name: str, kind: PayloadKind, image: str, spec: Spec) -> Object:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": spec.image.pull_policy,
        "command": [TOOL_COPY],
        "args": [
            "stage",
            *("--image", image),
            *("--kind", kind.value),
            *("--to", PAYLOADS),
            *("--folder", payload_folder(image)),
            "--stay",
        ],
        "resources": pods.resources(spec.maca.resources if kind is PayloadKind.MACA else {}, "10m", "32Mi"),
        "securityContext": _confined(),
        "volumeMounts": [pods.mount("tools", "/tools", read_only=True), pods.mount("payloads", PAYLOADS)],
    }


def _confined() -> Object:
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        # The folder is root's, and so are the files of most images.
        "runAsUser": 0,
        "runAsGroup": 0,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
