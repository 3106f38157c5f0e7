"""What a test may ask of a cluster. Every default is the plainest cluster that can run a pod."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.errors import BedError

MOST_NODES = 3


@dataclass(frozen=True, slots=True)
class Options:
    """A cluster's shape. What two tests can share should be shared: a cluster costs about ten seconds."""

    nodes: int = 1
    """Real kubelets, each in namespaces of its own."""
    kwok_nodes: int = 0
    """Nodes that exist only as objects, kept alive by kwok."""
    controllers: bool = True
    """Whether controllers run. Without them nodes that exist only as objects stay as they were written, and nothing
    but the scheduler and its extenders acts on pods."""
    services: bool = False
    """Whether Services lead to their pods, from everywhere: kube-proxy runs in every room."""
    cdi: bool = True
    """Whether containerd resolves CDI names. Off is the recorded configuration of a node without CDI."""
    containerd_version: int = 3
    """Of the format in which containerd's configuration is written: 2 or 3."""
    containerd_dress: Callable[[str], str] = str
    """What a test makes of that configuration before it is written: comments, an odd layout."""
    hurry: bool = False
    """Whether a container that keeps failing is started again every second, and not after minutes."""
    fsync: bool = False
    """Whether etcd waits for the disk. Off is faster, and a box is thrown away anyway."""
    scheduler: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of KubeSchedulerConfiguration: `extenders`, `profiles`, `percentageOfNodesToScore`."""
    api_server_flags: tuple[str, ...] = ()
    feature_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """For every component at once."""
    kubelet: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of KubeletConfiguration."""

    def __post_init__(self) -> None:
        if not 0 <= self.nodes <= MOST_NODES:
            raise BedError(
                f"a cluster has 0 to {MOST_NODES} real nodes, not {self.nodes}: more load comes from kwok nodes"
            )
        if self.services and not self.nodes:
            raise BedError("Services lead to pods, and without a real node none runs: ask for 'nodes' too")
        if not 0 <= self.kwok_nodes <= 20_000:
            raise BedError(f"a cluster has 0 to 20000 kwok nodes, not {self.kwok_nodes}")
