"""apply, create, patch, edit, delete, and what is asked before anything is changed."""

from __future__ import annotations

from typing import Final

from contract.kubectl import Object, Session, do, script
from contract.things import config, deployment, pod, secret


def _web(image: str = "i", replicas: int = 0) -> Object:
    made = deployment("web", replicas=replicas)
    made["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return made


SESSIONS: Final = (
    Session(
        "a_manifest_is_applied_again_and_again",
        (
            do("apply -f -", config("a", data={"x": "1", "y": "2"}), _web()),
            do("apply -f -", config("a", data={"x": "1", "y": "2"})),
            do("apply -f -", config("a", data={"x": "3"})),
            do("get configmap a -o jsonpath={.data}"),
            do("apply -f -", _web("j")),
            do("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}"),
            do("apply view-last-applied configmap a -o json", keep="data|x|kind"),
            do("diff -f -", config("a", data={"x": "4"}), keep="^[-+ ] "),
            do("diff -f -", config("a", data={"x": "3"})),
            do("apply --dry-run=server -f -", config("a", data={"x": "5"})),
            do("apply --dry-run=client -f -", config("a", data={"x": "5"})),
            do("get configmap a -o jsonpath={.data}"),
        ),
        usual=True,
    ),
    Session(
        "a_manifest_is_applied_by_the_server",
        (
            do("apply --server-side -f -", config("a", data={"x": "1", "y": "2"})),
            do("apply --server-side -f -", config("a", data={"x": "1"})),
            do("get configmap a -o jsonpath={.data}"),
            do("apply --server-side --field-manager=other -f -", config("a", data={"x": "9"})),
            do(
                "apply --server-side --field-manager=other --force-conflicts -f -",
                config("a", data={"x": "9"}),
            ),
            do("apply --server-side --dry-run=server -f -", config("b")),
            do("diff --server-side -f -", config("a", data={"x": "9", "z": "1"}), keep="^[-+] "),
            do("apply -f -", config("c")),
            do("apply --server-side -f -", config("c", data={"key": "other"})),
        ),
        usual=True,
    ),
    Session(
        "a_broken_manifest_is_refused_with_its_reason",
        (
            do("apply -f -", pod("a", spec={"contaienrs": []})),
            do("apply --validate=false -f -", pod("a", spec={"contaienrs": []})),
            do("create -f -", pod("Bad_Name")),
            do("apply -f -", deployment("web", selector={"matchLabels": {"other": "x"}})),
            do("create -f -", {"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "a"}}),
            do("create -f -", config("a"), config("a")),
        ),
    ),
    Session(
        "things_are_created_by_name",
        (
            do("create configmap a --from-literal=k=v"),
            do("create configmap a --from-literal=k=v"),
            do("create secret generic a --from-literal=k=v"),
            do("create deployment web --image=i --replicas=0"),
            do("create job a --image=i -- sleep 1"),
            do("create serviceaccount robot"),
            do("create namespace {tag}-x"),
            do("create token robot"),
            do("create token nobody"),
            do("create quota q --hard=pods=5"),
            do("create priorityclass {tag}-p --value=100"),
            do("create role r --verb=get --resource=pods"),
            do("create rolebinding r --role=r --serviceaccount={ns}:robot"),
            do("create poddisruptionbudget p --selector=app=x --min-available=1"),
            do("create cronjob c --image=i --schedule='0 0 * * *'"),
            do("create service clusterip s --tcp=80:80"),
            do("create deployment dry --image=i --dry-run=server -o name"),
            do("create configmap dry --from-literal=k=v --dry-run=client -o yaml"),
            do("get configmap a -o jsonpath={.data.k}"),
            do("get cronjob,pdb,quota,role,rolebinding -o name", ordered=False),
            do("delete namespace {tag}-x --wait=false"),
        ),
    ),
    Session(
        "an_object_is_patched_in_three_ways",
        (
            do("create -f -", _web()),
            do(
                """patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"}]}}}}'"""
            ),
            do("""patch deployment web --type=merge -p '{"spec":{"minReadySeconds":3}}'"""),
            do(
                """patch deployment web --type=json -p '[{"op":"replace","path":"/spec/replicas","value":0}]'"""
            ),
            do(
                """patch deployment web --type=json -p '[{"op":"replace","path":"/spec/minReadySeconds","value":4}]'"""
            ),
            do("""patch deployment web --type=merge -p '{"spec":{"replicas":-1}}'"""),
            do("""patch deployment web --type=merge -p '{"spec":{"minReadySeconds":3}}' --dry-run=server"""),
            do("""patch deployment nothing -p '{}'"""),
            do(
                "get deployment web -o jsonpath={.spec.minReadySeconds}{.spec.template.spec.containers[0].image}"
            ),
            do("set image deployment/web c=k"),
            do("set env deployment/web A=1"),
            do("set resources deployment/web --limits=cpu=1"),
            do("set selector service/nothing a=b"),
            do("get deployment web -o jsonpath={.spec.template.spec.containers[0]}"),
        ),
        usual=True,
    ),
    Session(
        "an_object_is_edited",
        (
            do("create -f -", config("a", data={"key": "before"})),
            do("edit configmap a", KUBE_EDITOR="sed -i s/before/after/"),
            do("get configmap a -o jsonpath={.data.key}"),
            do("edit configmap a", KUBE_EDITOR="true"),
        ),
    ),
    Session(
        "objects_are_replaced",
        (
            do("replace -f -", config("a")),
            do("create -f -", config("a")),
            do("replace -f -", config("a", data={"new": "1"})),
            do("get configmap a -o jsonpath={.data}"),
            do("replace --force -f -", config("a", data={"newer": "1"})),
        ),
    ),
    Session(
        "objects_are_deleted",
        (
            do(
                "create -f -",
                config("a"),
                config("b", app="x"),
                secret("c", app="x"),
                pod("a"),
                pod("n", spec={"nodeName": "{tag}-gone"}),
            ),
            do("delete configmap a"),
            do("delete configmap a"),
            do("delete configmap a --ignore-not-found"),
            do("delete configmap,secret -l app=x"),
            do("delete pod a"),
            do("delete pod n --wait=false"),
            do("get pod n -o jsonpath={.metadata.deletionGracePeriodSeconds}"),
            do("delete pod n --grace-period=0 --force"),
            do("create -f -", pod("m", spec={"nodeName": "{tag}-gone"})),
            do("delete pod m --now --wait=false"),
            do("get pod m -o jsonpath={.metadata.deletionGracePeriodSeconds}"),
            do("delete pod m --force"),
            do("delete -f -", config("nothing")),
            do("delete configmaps --all", keep="^(?!.*kube-root-ca)"),
        ),
        usual=True,
    ),
    Session(
        "owners_are_deleted_with_or_without_what_they_own",
        (
            do("create -f -", _web()),
            do("rollout status deployment/web"),
            do("delete deployment web --cascade=orphan"),
            do("get rs -l app=a -o name"),
            do("delete rs -l app=a"),
            do("create -f -", _web()),
            do("rollout status deployment/web"),
            do("delete deployment web --cascade=foreground"),
            do("get rs -l app=a -o name"),
            do("create -f -", _web()),
            do("rollout status deployment/web"),
            do("delete deployment web"),
            script(
                "for n in $(seq 40); do $KUBECTL get rs -o name | grep -q . || break; sleep 0.1; done; "
                "$KUBECTL get rs -o name"
            ),
        ),
    ),
    Session(
        "a_pod_is_run",
        (
            do("run a --image=i --restart=Never --dry-run=client -o yaml"),
            do("run a --image=i --restart=Never --dry-run=server -o name"),
            do("run a --image=i --labels=app=x --env=A=1 --port=80"),
            do("get pod a -o jsonpath={.spec.containers[0].env}{.metadata.labels}"),
            do("run a --image=i"),
            do("expose pod a --port=80 --name=s"),
            do("get service s -o jsonpath={.spec.selector}{.spec.ports[0].port}"),
        ),
    ),
)
