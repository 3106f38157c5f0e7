"""Deployments: scale, rollout, history and undo."""

from __future__ import annotations

from typing import Final

from contract.kubectl import Session, do, script
from contract.things import deployment

COUNT: Final = (
    "for n in $(seq 50); do [ $($KUBECTL get pods -l app=a -o name | wc -l) = %d ] && break; sleep 0.2; done"
)

SESSIONS: Final = (
    Session(
        "a_deployment_is_rolled_out_and_back",
        (
            do("create -f -", deployment("web", replicas=0)),
            do("rollout status deployment/web"),
            do("set image deployment/web c=j"),
            do("rollout status deployment/web"),
            do("rollout history deployment/web"),
            do("rollout history deployment/web --revision=2"),
            do("rollout undo deployment/web"),
            do("rollout status deployment/web"),
            do("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}"),
            do("rollout history deployment/web"),
            do("rollout undo deployment/web --to-revision=9"),
            do("rollout pause deployment/web"),
            do("rollout pause deployment/web"),
            do("rollout resume deployment/web"),
            do("rollout restart deployment/web"),
            do("get deployment web -o jsonpath={.spec.template.metadata.annotations}"),
        ),
    ),
    Session(
        "a_deployment_is_scaled",
        (
            do("create -f -", deployment("web", replicas=0)),
            do("scale deployment web --replicas=2"),
            script(COUNT % 2),
            do("wait --for=jsonpath={.status.updatedReplicas}=2 deployment/web --timeout=10s"),
            do("wait --for=jsonpath={.status.replicas}=2 rs -l app=a --timeout=10s"),
            do("get pods -l app=a"),
            do("get deployment web"),
            do("get rs"),
            do("scale deployment web --current-replicas=5 --replicas=1"),
            do("scale deployment/web --replicas=0"),
            script(COUNT % 0),
            do("get pods -l app=a"),
            do("scale deployment nothing --replicas=1"),
            do("autoscale deployment web --max=3 --dry-run=client -o name"),
        ),
        usual=True,
    ),
)
