"""gpu-label on every Linux node, because that a node has no card is a label too.

Whether a driver is ready and who brought it is said by driver-manager where there is one: two writers of one label
would undo each other's work.
"""

from __future__ import annotations

from typing import Final

from tangram.services.operator.parts import pods
from tangram.services.operator.parts.pods import Object, Pod, Site
from tangram.wire.operator.spec import Spec

NAME: Final = "gpu-label"
PORT: Final = 9395
_LIBRARIES: Final = ("mxsml", "mx-smi")


def manifests(spec: Spec, site: Site) -> tuple[Object, ...]:
    """Its DaemonSet."""
    wanted = spec.labelgen
    log = spec.log_of(wanted.log)
    # driver-manager has the mode, where it writes the label.
    beside = ("--driver-labels", "elsewhere") if spec.driver.deploy else ("--driver-mode", wanted.driver_mode)
    arguments = ["--driver", wanted.driver, "--product-names", wanted.product_names, *beside]
    arguments += pods.log_arguments(log)
    seen, volumes = _of_the_host(wanted.driver)
    container: Object = {
        **pods.tangram(NAME, arguments, spec, site),
        **pods.probes(PORT),
        "resources": pods.resources(wanted.resources, "10m", "64Mi"),
        "securityContext": _confined(with_files=bool(log.dir)),
        "volumeMounts": [*pods.log_mounts(log), *seen, pods.mount("tmp", "/tmp")],  # noqa: S108 - in its own container
    }
    pod = Pod(
        containers=[container],
        volumes=[*pods.log_volumes(log), *volumes, pods.scratch()],
        node_selector={"kubernetes.io/os": "linux"},
        affinity=pods.built_for(),
    )
    return (pods.daemon_set(NAME, spec, site, pod),)


def _of_the_host(driver: str) -> tuple[list[Object], list[Object]]:
    """The PCI bus is in every container's /sys; a way of asking that needs more sees where drivers are."""
    if driver.startswith(pods.SIMULATED):
        return [pods.mount("state", pods.STATE_FOLDER, read_only=True)], [
            pods.host_folder("state", pods.STATE_FOLDER)
        ]
    if driver.startswith(_LIBRARIES):
        return [
            pods.mount("opt", "/opt", read_only=True),
            pods.mount("usr", pods.HOST_USR, read_only=True),
        ], [
            pods.host_folder("opt", "/opt"),
            pods.host_folder("usr", "/usr", must_exist=True),
        ]
    return [], []


def _confined(*, with_files: bool) -> Object:
    who: Object = {"runAsUser": 0, "runAsGroup": 0} if with_files else {"runAsNonRoot": True}
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        **who,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
