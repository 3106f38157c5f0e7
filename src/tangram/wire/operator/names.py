"""The names by which the operator, its agents on the nodes and people know each other.

Between the operator and the agents of a node nothing is said but on the Node object: labels say what is ready, because
DaemonSets can ask for them; annotations say the rest. Every key has exactly one writer, so no two programs undo each
other, and whoever was killed finds on the node what had been done.

The labels that MetaX's own operator writes keep their names. What no peer defines has our prefix.
"""

from __future__ import annotations

from typing import Final

GROUP: Final = "gpu.metax-tech.com"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "ClusterOperator"
PLURAL: Final = "clusteroperators"
OBJECT: Final = "cluster-operator"
"""The one object of that kind; another name is refused."""
FINALIZER: Final = "tangram.dev/node-cleanup"
VENDORS_FINALIZER: Final = "gpu.metax-tech.com/finalizers"
"""Of MetaX's own operator, which keeps an object of the same kind and name."""

DRIVER_CONFIG: Final = "driver-config"
"""The ConfigMap in the operator's namespace with virtual functions and module parameters."""
RUNTIME_CLASS: Final = "metax"
"""Also the name of the runtime in the configuration of the container runtime."""

# ---- labels

MANAGED: Final = "tangram.dev/metax.managed"
"""`true`, written by the operator on nodes with MetaX cards: where driver-manager, container-runtime and payloads run.

Not `gpu.installed`: gpu-label takes that off while a node is cordoned, which is just when the driver is worked on.
"""
MACA_PRODUCT: Final = "tangram.dev/maca.product"
"""Written by the operator where MXMACA images are per product: `c500` on nodes that get images for C500.

It outlives the label of gpu-label that it follows, for the same reason as `MANAGED`.
"""
RUNTIME_READY: Final = "metax-tech.com/runtime.ready"
"""Written by container-runtime."""
DRIVER_READY: Final = "metax-tech.com/driver.ready"
"""Under the operator written by driver-manager; without one, by gpu-label."""
DRIVER_MODE: Final = "metax-tech.com/gpu.driver.mode"
"""The same: `cloud` for a driver that was deployed from a payload, `native` for the host's own."""
MACA_READY: Final = "metax-tech.com/maca.ready"
"""Written by driver-manager."""

# ---- annotations of nodes, by their writer

DRIVER_STATE: Final = "tangram.dev/driver.state"
"""driver-manager: what runs, what is wanted, and why they differ (`node_states.DriverState`)."""
MACA_STATE: Final = "tangram.dev/maca.state"
"""driver-manager (`node_states.MacaState`)."""
RUNTIME_STATE: Final = "tangram.dev/runtime.state"
"""container-runtime (`node_states.RuntimeState`)."""
TURN: Final = "tangram.dev/driver.turn"
"""The operator: the version of the driver that this node may change to now. Without it a working driver stays."""
UPGRADE: Final = "tangram.dev/driver.upgrade"
"""The operator: how far it is with this node (`node_states.Upgrade`)."""
REMOVE: Final = "tangram.dev/operator.remove"
"""The operator: `true` asks the agents of this node to take away everything that they brought."""
REMOVE_ASKED: Final = "tangram.dev/operator.remove-asked"
"""The operator: when it first asked, so that the next leader does not wait for a silent node all over again."""

OPERATOR_LABELS: Final = (MANAGED, MACA_PRODUCT)
OPERATOR_ANNOTATIONS: Final = (TURN, UPGRADE, REMOVE, REMOVE_ASKED)
DRIVER_MANAGER_ANNOTATIONS: Final = (DRIVER_STATE, MACA_STATE)
DRIVER_MANAGER_LABELS: Final = (DRIVER_READY, DRIVER_MODE, MACA_READY)
RUNTIME_ANNOTATIONS: Final = (RUNTIME_STATE,)
RUNTIME_LABELS: Final = (RUNTIME_READY,)

DRIVER_CHANGE_PENDING: Final = "GpuDriverChangePending"
"""A condition of the node, written by driver-manager while a change waits for cards that are in use."""

# ---- places on a node, the same inside the agents' containers unless an option says otherwise

PAYLOADS: Final = "/var/lib/metax/payloads"
"""One folder for each payload image, put there complete or not at all by the payload's own pod."""
JOURNAL: Final = "/var/lib/metax/driver-manager"
"""What driver-manager did to this host, so that it can be undone after any crash."""
RUNTIME_JOURNAL: Final = "/var/lib/metax/container-runtime"
RUNTIME_PROGRAM: Final = "/var/lib/metax/tools/usr/bin/mx-container-runtime"
DRIVER_LINK: Final = "/opt/mxdriver"
"""A link to `/opt/mxdriver-<version>`."""
MACA_LINK: Final = "/opt/maca"
"""A link to `/opt/maca-<version>`."""
