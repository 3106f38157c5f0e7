"""container-runtime on managed nodes: registers the runtime `metax` with whatever runs containers there.

It edits files of the host and asks the host's own programs whether they are right, so it sees the whole host and its
processes. Rolled out slowly: a change of the configuration may restart the container runtime of a node.
"""

from __future__ import annotations

from typing import Final

from tangram.services.operator.parts import pods
from tangram.services.operator.parts.pods import Object, Pod, Site
from tangram.wire.operator.spec import Spec

NAME: Final = "container-runtime"
PORT: Final = 9398


def manifests(spec: Spec, site: Site) -> tuple[Object, ...]:
    """Its DaemonSet."""
    wanted = spec.runtime
    log = spec.log_of(wanted.log)
    seen, host = pods.whole_host()
    arguments = [
        *("--host-root", pods.HOST),
        *("--engine", wanted.config.engine),
        *("--cdi-mode", wanted.config.cdi_mode),
        *pods.log_arguments(log),
    ]
    container: Object = {
        **pods.tangram(NAME, arguments, spec, site),
        **pods.probes(PORT),
        "resources": pods.resources(wanted.resources, "10m", "64Mi"),
        "securityContext": pods.all_powers(),
        "volumeMounts": [seen, *pods.log_mounts(log), pods.mount("tmp", "/tmp")],  # noqa: S108 - in its own container
    }
    pod = Pod(
        containers=[container],
        volumes=[host, *pods.log_volumes(log), pods.scratch()],
        node_selector=pods.MANAGED_NODES,
        host_pid=True,
        grace=30,
    )
    return (pods.daemon_set(NAME, spec, site, pod),)
