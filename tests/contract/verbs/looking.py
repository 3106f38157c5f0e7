"""get and describe, in every form."""

from __future__ import annotations

import json
from typing import Final

from contract.kubectl import Object, Session, Step, do, script
from contract.things import config, deployment, job, labelled, pod, secret, thing

RUNNING: Final[Object] = {
    "status": {
        "phase": "Running",
        "podIP": "10.9.9.9",
        "podIPs": [{"ip": "10.9.9.9"}],
        "hostIP": "10.8.8.8",
        "startTime": "2024-01-01T00:00:00Z",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {
                "name": "c",
                "image": "i",
                "imageID": "sha256:1",
                "containerID": "sim://1",
                "ready": True,
                "started": True,
                "restartCount": 2,
                "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}},
                "lastState": {
                    "terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2024-01-01T00:00:00Z"}
                },
            }
        ],
    }
}


def running(name: str) -> Step:
    """The pod of that name runs, as a kubelet would write it."""
    return do(f"patch pod {name} --subresource=status --type=merge -p '{json.dumps(RUNNING)}'")


def _event() -> Object:
    return thing(
        "Event",
        "a.1",
        involvedObject={"kind": "Pod", "name": "a", "namespace": "{ns}", "apiVersion": "v1"},
        reason="Tested",
        message="it was tested",
        type="Warning",
        source={"component": "contract"},
        firstTimestamp="2024-01-01T00:00:00Z",
        lastTimestamp="2024-01-01T00:00:00Z",
        count=3,
    )


SESSIONS: Final = (
    Session(
        "pods_are_shown_in_every_form",
        (
            do("get pods"),
            do(
                "create -f -",
                pod("a", app="x"),
                pod("b", spec={"nodeName": "{tag}-gone"}, app="y"),
                pod("c", app="x"),
            ),
            running("b"),
            do("get pods"),
            do("get pods -o wide"),
            do("get pods -o name"),
            do("get po/a pod/b"),
            do("get pods --show-labels"),
            do("get pods -L app"),
            do("get pods -l app=x"),
            do("get pods -l 'app in (y)' --no-headers"),
            do("get pods --field-selector status.phase=Running"),
            do("get pods --field-selector spec.nodeName={tag}-gone,metadata.name=b -o name"),
            do("get pods --sort-by=.metadata.name"),
            do("get pods --sort-by=.status.phase"),
            do("get pod a -o jsonpath={.spec.containers[*].image}"),
            do("get pods -o 'jsonpath={range .items[*]}{.metadata.name}={.status.phase};{end}'"),
            do("get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName"),
            do("get pods -o 'go-template={{len .items}}'"),
            do("get pod nothing"),
            do("get pod nothing --ignore-not-found"),
            do("get pods -A --field-selector metadata.namespace={ns}"),
            do("get pods --chunk-size=1"),
        ),
        usual=True,
    ),
    Session(
        "objects_are_shown_whole",
        (
            do("create -f -", config("a", app="x"), pod("a")),
            do("get configmap a -o yaml"),
            do("get configmap a -o json"),
            do("get pod a -o yaml"),
            do("get configmap a -o yaml --show-managed-fields", keep="manager|operation|f:"),
            do("get configmaps -l app=x -o yaml"),
        ),
    ),
    Session(
        "everything_of_a_namespace_is_shown",
        (
            do(
                "create -f -",
                pod("a"),
                deployment("web", replicas=0),
                job("a"),
                thing("Service", "a", spec={"ports": [{"port": 80}]}),
            ),
            do("rollout status deployment/web"),
            do("get all"),
            do("get pods,services"),
            do("get deploy,rs,job"),
            do("get nothings"),
            do("get sa,cm", keep="default|kube-root-ca|NAME"),
        ),
    ),
    Session(
        "a_watch_shows_what_happens",
        (
            do("create -f -", secret("a", app="x")),
            script(
                "out=$(mktemp); $KUBECTL get secrets -l app=x -w >$out & watch=$!; "
                "until [ $(wc -l <$out) -ge 2 ]; do sleep 0.05; done; "
                "$KUBECTL label secret a more=yes >/dev/null; "
                "$KUBECTL create secret generic b --from-literal=k=v >/dev/null; "
                "$KUBECTL label secret b app=x >/dev/null; $KUBECTL delete secret a >/dev/null; "
                "until [ $(wc -l <$out) -ge 5 ]; do sleep 0.05; done; kill $watch; cat $out; rm $out",
            ),
            script(
                "out=$(mktemp); $KUBECTL get secret b -w --output-watch-events >$out & watch=$!; "
                "until [ $(wc -l <$out) -ge 2 ]; do sleep 0.05; done; $KUBECTL delete secret b >/dev/null; "
                "until [ $(wc -l <$out) -ge 3 ]; do sleep 0.05; done; kill $watch; cat $out; rm $out",
            ),
        ),
        usual=True,
    ),
    Session(
        "a_pod_is_described",
        (
            do(
                "create -f -",
                pod("a", spec={"nodeSelector": {"x": "y"}}, app="x"),
                pod("b", spec={"nodeName": "{tag}-gone"}),
            ),
            running("b"),
            do("create -f -", _event()),
            do("describe pod a"),
            do("describe pod b", keep="^(?!Node:)"),
            do("describe pods -l app=x", keep="^Name|^Labels"),
            do("describe pod nothing"),
        ),
        usual=True,
    ),
    Session(
        "workloads_are_described",
        (
            do("create -f -", deployment("web", replicas=0), job("a"), config("a"), secret("a")),
            do("rollout status deployment/web"),
            do(
                "describe deployment web",
                keep="^(?!Events|  Type|  ---|  Normal|OldReplica|NewReplica|Conditions|  Available|  Progressing)",
            ),
            do("describe job a", keep="^(?!Events|  Type|  ---|  Normal)"),
            do("describe configmap a"),
            do("describe secret a"),
            do("describe namespace {ns}"),
        ),
    ),
    Session(
        "events_are_shown",
        (
            do("create -f -", pod("a"), _event()),
            do("get events"),
            do("events --for pod/a"),
            do("events --types=Normal"),
            do("get events.events.k8s.io", keep="Tested|LAST"),
        ),
    ),
    Session(
        "labels_and_annotations_are_set_and_taken_away",
        (
            do("create -f -", labelled(config("a"), app="x"), config("b")),
            do("label configmap a color=red"),
            do("label configmap a color=blue"),
            do("label configmap a color=blue --overwrite"),
            do("label configmap a color-"),
            do("label configmap a color-"),
            do("label configmap a --list"),
            do("label configmap -l app=x done=yes"),
            do("label configmap a 'bad=not good'"),
            do("annotate configmap a note='some words'"),
            do("annotate configmap a note='other words'"),
            do("annotate configmap a note-"),
            do("annotate configmap nothing note=x"),
            do("get configmap a -o jsonpath={.metadata.labels}"),
        ),
    ),
)
