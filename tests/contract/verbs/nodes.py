"""Nodes that exist only as objects: cordon, drain, taint, describe."""

from __future__ import annotations

import json
from typing import Final

from contract.kubectl import Object, Session, do, script
from contract.things import budget, pod, thing

NODE: Final = "{tag}-node"
READY: Final[Object] = {
    "status": {
        "capacity": {"cpu": "8", "memory": "16Gi", "pods": "110", "example.com/card": "4"},
        "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110", "example.com/card": "4"},
        "nodeInfo": {
            "kubeletVersion": "v1.36.3",
            "osImage": "Test",
            "kernelVersion": "6.1",
            "containerRuntimeVersion": "sim://1",
        },
    }
}


def _node() -> Object:
    made = thing("Node", NODE)
    made["metadata"]["labels"] = {"case": "{tag}", "kubernetes.io/hostname": NODE}
    return made


def _on_node(name: str) -> Object:
    resources = {"limits": {"cpu": "500m", "example.com/card": "1"}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    return pod(name, {"nodeName": NODE, "containers": containers}, app="a")


SESSIONS: Final = (
    Session(
        "a_node_is_cordoned_and_tainted",
        (
            do("create -f -", _node()),
            do(f"patch node {NODE} --subresource=status --type=merge -p '{json.dumps(READY)}'"),
            do(f"get node {NODE}", keep="NAME|TAG"),
            do("get nodes -l case={tag} -o name"),
            do(f"cordon {NODE}"),
            do(f"cordon {NODE}"),
            do(f"get node {NODE} -o jsonpath={{.spec.unschedulable}}"),
            do(f"uncordon {NODE}"),
            do(f"uncordon {NODE}"),
            do(f"taint node {NODE} a=b:NoSchedule"),
            do(f"taint node {NODE} a=c:NoSchedule"),
            do(f"taint node {NODE} a=c:NoSchedule --overwrite"),
            do(f"taint node {NODE} a:NoSchedule-"),
            do(f"taint node {NODE} a:NoSchedule-"),
            do(f"label node {NODE} color=red"),
            do(
                f"describe node {NODE}",
                keep="^Name|^Labels|color|example|^Unsched|kernel|Kernel|OS Image|Kubelet V|^Capacity|^Alloc",
            ),
            do(f"delete node {NODE}"),
            do(f"cordon {NODE}"),
        ),
    ),
    Session(
        "a_node_is_drained",
        (
            do("create -f -", _node()),
            do(f"patch node {NODE} --subresource=status --type=merge -p '{json.dumps(READY)}'"),
            do("create -f -", _on_node("a")),
            do(f"describe node {NODE}", keep="Non-terminated|^  NAMESPACE|example.com/card  "),
            do(f"drain {NODE}", keep="^node|^cannot delete"),
            do(f"drain {NODE} --force --dry-run=server"),
            script(
                f"$KUBECTL drain {NODE} --force --timeout=20s & sleep 0.7; "
                "$KUBECTL delete pod a --force --grace-period=0 >/dev/null 2>&1; wait $!",
                keep="evict|drained|cordoned",
                ordered=False,
            ),
            do(f"get node {NODE} -o jsonpath={{.spec.unschedulable}}"),
            do(f"delete node {NODE}"),
        ),
        usual=True,
    ),
    Session(
        "a_drain_waits_for_budgets",
        (
            do("create -f -", _node(), budget(minAvailable=1)),
            do("create -f -", _on_node("a")),
            do(
                """patch pod a --subresource=status --type=merge -p """
                """'{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'"""
            ),
            do("wait --for=jsonpath={.status.currentHealthy}=1 pdb/a --timeout=10s"),
            # It tries again after five seconds; what it says the first time is enough.
            script(f"timeout 3 $KUBECTL drain {NODE} --force", keep="error when evicting"),
            do("get pdb a"),
            do("describe pdb a", keep="^(?!Events|  Type|  ---|  Normal|  Warning)"),
            do("delete pod a --force --grace-period=0"),
            do(f"delete node {NODE}"),
        ),
    ),
)
