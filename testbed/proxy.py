"""kube-proxy in every room of a box, so that Services lead somewhere: from pods, from nodes and from the API server.

It runs in nftables mode, which writes only what belongs to the room's own network. The sysctls of connection tracking
are the machine's, so it is told to leave them alone. Nothing here gives Services names: there is no DNS.
"""

import json
from pathlib import Path

from testbed.controlplane import Credentials, Programs, component_kubeconfig
from testbed.firstprocess import CONTROL
from testbed.places import ClusterFolder, RoomFolder
from testbed.rooms import BRIDGE, CONTROL_ADDRESS, SERVICE_RANGE

PROGRAM = "kube-proxy"


def route(room: str) -> list[str]:
    """What gives the packets of a room's own programs a way to Services.

    The kernel looks for one before kube-proxy's rules see the packet, and they send it elsewhere.
    """
    way = ["dev", BRIDGE, "src", CONTROL_ADDRESS] if room == CONTROL else ["via", CONTROL_ADDRESS]
    return ["/bin/sh", "-c", 'exec ip route replace "$@"', "ip", SERVICE_RANGE, *way]


def command(
    programs: Programs, folder: ClusterFolder, credentials: Credentials, room: RoomFolder, node: str
) -> list[str | Path]:
    """Write its configuration for a room; return the command line.

    `node` is the Node it believes to be on. In the control plane's room, which is none, any of them will do: it would
    only matter to Services that prefer what is near.
    """
    file = room.etc / "kube-proxy.json"
    settings = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": node,
        "clientConnection": {
            "kubeconfig": str(component_kubeconfig(folder, credentials, PROGRAM)),
            "qps": 100,
            "burst": 200,
        },
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        # Answers within one node's bridge would not come back through the node, which alone knows who asked.
        "nftables": {"masqueradeAll": True, "minSyncPeriod": "0s", "syncPeriod": "30s"},
    }
    file.write_text(json.dumps(settings), encoding="utf-8")
    return [programs.path(PROGRAM), f"--config={file}", "--v=2"]
