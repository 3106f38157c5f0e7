"""driver-manager on managed nodes: driver, MXMACA and virtual functions, as the spec and `driver-config` say.

It works on the kernel and on `/opt` of its host, so it has all powers there. All nodes get a new version at once: what
must go one by one is the change of a working driver, and that waits for a turn which the operator gives.
"""

from __future__ import annotations

from typing import Final

from tangram.services.operator.parts import pods
from tangram.services.operator.parts.pods import Object, Pod, Site
from tangram.wire.operator.spec import Spec

NAME: Final = "driver-manager"
PORT: Final = 9397
KEY_FOLDER: Final = "/etc/tangram/payload-key"
KEY_FILE: Final = "payload.pub"


def arguments(spec: Spec, site: Site) -> list[str]:
    """Its command line."""
    driver, cleanup = spec.driver, spec.maca.cleanup_config
    return [
        *("--host-root", pods.HOST),
        *("--driver", spec.device_plugin.driver),
        *("--loader", driver.loader),
        *("--deploy-policy", driver.policy.value),
        *(("--driver-payload", spec.driver_image) if spec.driver_image else ()),
        *(word for image in spec.maca_images for word in ("--maca-payload", image)),
        *("--maca-cleanup", cleanup.cleanup_policy.value),
        *("--maca-keep", str(cleanup.threshold)),
        *("--config-namespace", site.namespace),
        *("--driver-mode", spec.labelgen.driver_mode),
        *("--firmware-upgrade", driver.fw_upgrade_policy),
        *("--firmware-effect", driver.fw_effect_policy),
        *(("--public-key", f"{KEY_FOLDER}/{KEY_FILE}") if driver.public_key_secret else ()),
        *(() if spec.runtime.deploy else ("--without-runtime",)),
    ]


def manifests(spec: Spec, site: Site) -> tuple[Object, ...]:
    """Its DaemonSet."""
    wanted = spec.driver
    log = spec.log_of(wanted.log)
    seen, host = pods.whole_host()
    simulated = any(way.startswith(pods.SIMULATED) for way in (wanted.loader, spec.device_plugin.driver))
    mounts = [seen, pods.mount("dev", "/dev"), pods.mount("opt", "/opt", read_only=True)]
    volumes = [host, pods.host_folder("dev", "/dev", must_exist=True), pods.host_folder("opt", "/opt")]
    if simulated:
        mounts.append(pods.mount("state", pods.STATE_FOLDER))
        volumes.append(pods.host_folder("state", pods.STATE_FOLDER))
    if wanted.public_key_secret:
        mounts.append(pods.mount("key", KEY_FOLDER, read_only=True))
        volumes.append({"name": "key", "secret": {"secretName": wanted.public_key_secret}})
    container: Object = {
        **pods.tangram(NAME, [*arguments(spec, site), *pods.log_arguments(log)], spec, site),
        **pods.probes(PORT),
        "resources": pods.resources(wanted.resources, "20m", "96Mi"),
        # Beside the node's own /dev there is no place for the kubelet's note below it.
        "terminationMessagePath": "/tmp/termination-log",  # noqa: S108 - in its own container
        "securityContext": pods.all_powers(),
        "volumeMounts": [*mounts, *pods.log_mounts(log), pods.mount("tmp", "/tmp")],  # noqa: S108 - the same
    }
    pod = Pod(
        containers=[container],
        volumes=[*volumes, *pods.log_volumes(log), pods.scratch()],
        node_selector=pods.MANAGED_NODES,
        host_pid=True,
        # What it has begun with a driver it brings to an end, or the next one does from its journal.
        grace=60,
        at_once="100%",
    )
    return (pods.daemon_set(NAME, spec, site, pod),)
