"""gpu-device where everything that a card needs is ready, and nowhere else: the order of a node is made here.

A node offers cards while its labels say that runtime, driver and MXMACA are ready. When one of them breaks, whoever
looks after it writes `false`, and the DaemonSet takes this pod from that node alone. A part that is not deployed is not
waited for.

Containers get the host's MXMACA and the driver's programs with their cards, so both folders are named to it.
"""

from __future__ import annotations

from typing import Final

from tangram.services.operator.parts import pods
from tangram.services.operator.parts.pods import Object, Pod, Site
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.names import DRIVER_LINK, DRIVER_READY, MACA_LINK, MACA_READY, RUNTIME_READY
from tangram.wire.operator.spec import Spec

NAME: Final = "gpu-device"
PORT: Final = 9394


def node_selector(spec: Spec) -> dict[str, str]:
    """What must be true of a node that offers cards."""
    needed = {
        INSTALLED: True,
        RUNTIME_READY: spec.runtime.deploy,
        DRIVER_READY: True,
        MACA_READY: spec.has_maca,
    }
    return {
        **{key: "true" for key, counts in needed.items() if counts},
        **spec.device_plugin.node_selector,
    }


def manifests(spec: Spec, site: Site) -> tuple[Object, ...]:
    """Its DaemonSet."""
    wanted = spec.device_plugin
    log = spec.log_of(wanted.log)
    arguments = [
        *("--driver", wanted.driver),
        *("--healthy-interval", str(wanted.healthy_interval)),
        *("--config-namespace", wanted.config_namespace or site.namespace),
        *("--runtime-config", "/host/etc/containerd/config.toml"),
        *("--container-folders", f"{MACA_LINK},{DRIVER_LINK}"),
        *pods.log_arguments(log),
    ]
    container = pods.tangram(NAME, arguments, spec, site)
    container |= {
        # Moore Threads' library is where the host's own libraries are, which must not take the place of the image's.
        "env": [
            *container["env"],
            {"name": "MTML_LIBRARY_PATH", "value": "/host/usr/lib:/host/usr/lib64:/host/usr/local/lib"},
        ],
        **pods.probes(PORT),
        "resources": pods.resources(wanted.resources, "50m", "96Mi"),
        # Beside the node's own /dev there is no place for the kubelet's note below it.
        "terminationMessagePath": "/tmp/termination-log",  # noqa: S108 - in its own container
        "securityContext": pods.all_powers(),
        "volumeMounts": [
            pods.mount("device-plugins", "/var/lib/kubelet/device-plugins"),
            pods.mount("pod-resources", "/var/lib/kubelet/pod-resources", read_only=True),
            pods.mount("cdi", "/var/run/cdi"),
            pods.mount("state", pods.STATE_FOLDER),
            pods.mount("koordlet", "/var/run/koordlet/xpu-device-infos"),
            pods.mount("dev", "/dev"),
            pods.mount("opt", "/opt", read_only=True),
            pods.mount("usr", pods.HOST_USR, read_only=True),
            pods.mount("etc", "/host/etc", read_only=True),
            *pods.log_mounts(log),
            pods.mount("tmp", "/tmp"),  # noqa: S108 - in its own container
        ],
    }
    pod = Pod(
        # MetaX's library leaves out processes that have no number in its PID namespace.
        host_pid=True,
        containers=[container],
        volumes=[
            pods.host_folder("device-plugins", "/var/lib/kubelet/device-plugins", must_exist=True),
            pods.host_folder("pod-resources", "/var/lib/kubelet/pod-resources", must_exist=True),
            pods.host_folder("cdi", "/var/run/cdi"),
            pods.host_folder("state", pods.STATE_FOLDER),
            pods.host_folder("koordlet", "/var/run/koordlet/xpu-device-infos"),
            pods.host_folder("dev", "/dev", must_exist=True),
            pods.host_folder("opt", "/opt"),
            pods.host_folder("usr", "/usr", must_exist=True),
            pods.host_folder("etc", "/etc", must_exist=True),
            *pods.log_volumes(log),
            pods.scratch(),
        ],
        node_selector=node_selector(spec),
        grace=30,
    )
    return (pods.daemon_set(NAME, spec, site, pod),)
