"""`docs/security.md` says who runs as whom, with which rights and ports; here it is compared with the chart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from builders.charts.cases import TANGRAM, case_named
from builders.charts.goldens import Object, objects_of
from builders.charts.reading import containers, of_kind, pod_of

PAGE: Final = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
COMPONENT: Final = "app.kubernetes.io/component"


def dashboard_of(case: str) -> list[Object]:
    return [
        each
        for each in objects_of(case_named(TANGRAM, case))
        if each["metadata"]["labels"][COMPONENT] == "dashboard"
    ]


OBJECTS: Final = [
    *objects_of(case_named(TANGRAM, "deployExtenderGPUAware")),
    *dashboard_of("dashboard.actions"),
]
IMAGE_USER: Final = 65532


def table(head: str) -> list[list[str]]:
    lines = PAGE.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows: list[list[str]] = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.split("|")[1:-1]])
    return rows


def words(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def host_paths(workload: Object, container: Object, *, written: bool) -> set[str]:
    volumes = {each["name"]: each for each in pod_of(workload)["spec"].get("volumes", [])}
    return {
        volumes[mount["name"]]["hostPath"]["path"]
        for mount in container.get("volumeMounts", [])
        if "hostPath" in volumes[mount["name"]] and bool(mount.get("readOnly")) is not written
    }


def test_the_page_says_as_whom_every_container_runs_and_what_of_the_host_it_has() -> None:
    told = {row[0].strip("`"): row[1:] for row in table("Container")}
    found = {running.container["name"]: running for running in containers(OBJECTS)}
    assert set(told) == set(found)
    for name, (user, privileged, written, read, port) in told.items():
        workload, container = found[name]
        context: dict[str, Any] = (
            pod_of(workload)["spec"].get("securityContext", {}) | container["securityContext"]
        )
        assert user == ("root" if context.get("runAsUser", IMAGE_USER) == 0 else str(IMAGE_USER))
        assert privileged == ("yes" if context.get("privileged") else "no")
        assert words(written) == host_paths(workload, container, written=True)
        assert words(read) == host_paths(workload, container, written=False)
        assert port == ", ".join(str(each["containerPort"]) for each in container.get("ports", []))


def test_what_holds_for_all_containers_does() -> None:
    for workload, container in containers(OBJECTS):
        spec, context = pod_of(workload)["spec"], container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert not {"hostNetwork", "hostIPC"} & set(spec)
        if container["name"] == "gpu-device":
            assert spec["hostPID"] is True
            continue
        assert "hostPID" not in spec
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["allowPrivilegeEscalation"] is False
        seccomp = context.get("seccompProfile") or spec["securityContext"]["seccompProfile"]
        assert seccomp == {"type": "RuntimeDefault"}


def test_without_log_files_only_the_agent_has_anything_of_the_host() -> None:
    for workload, container in containers(objects_of(case_named(TANGRAM, "log-without-files"))):
        if container["name"] != "gpu-device":
            assert not host_paths(workload, container, written=True) | host_paths(
                workload, container, written=False
            )
            assert container["securityContext"].get("runAsUser", IMAGE_USER) == IMAGE_USER


Right = tuple[str, str, str, frozenset[str], frozenset[str]]


def granted() -> Iterator[Right]:
    """Part, place, resource, the names it is for, and verbs."""
    for role in of_kind(OBJECTS, "ClusterRole", "Role"):
        part = role["metadata"]["name"].removeprefix("tangram-").removesuffix("-default")
        where = role["metadata"].get("namespace", "cluster")
        for rule in role["rules"]:
            for resource in rule["resources"]:
                yield (
                    part,
                    where,
                    resource,
                    frozenset(rule.get("resourceNames", ())),
                    frozenset(rule["verbs"]),
                )


def told_rights() -> Iterator[Right]:
    for part, where, resources, verbs, _why in table("Part"):
        kinds, _, names = resources.partition(", called ")
        for resource in words(kinds):
            yield part, where, resource, frozenset(words(names)), frozenset(verbs.split(", "))


def test_the_page_has_every_right_and_no_other() -> None:
    assert set(told_rights()) == set(granted())
    bound = {each["roleRef"]["name"] for each in of_kind(OBJECTS, "ClusterRoleBinding", "RoleBinding")}
    for role in bound - {each["metadata"]["name"] for each in of_kind(OBJECTS, "ClusterRole", "Role")}:
        assert f"`{role}`" in PAGE


def test_the_page_has_every_port() -> None:
    told = {(row[0].split()[0], row[1].split(",")[0]) for row in table("Port")}
    for running in containers(OBJECTS):
        for port in running.container.get("ports", []):
            assert (str(port["containerPort"]), running.container["name"]) in told


def test_the_page_has_the_port_of_the_dashboards_certificate() -> None:
    told = {row[0] for row in table("Port") if "`dashboard.tlsSecretName`" in row[1]}
    (with_one,) = containers(dashboard_of("dashboard.tlsSecretName"))
    (without,) = containers(dashboard_of("dashboard.actions"))
    assert {str(each["containerPort"]) for each in with_one.container["ports"]} == {"8089", "8443"}
    assert "127.0.0.1:8088" in without.container["args"]
    assert told == {"8443", "8088 on 127.0.0.1"}


def test_the_network_policies_choose_our_pods_and_their_ports() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    policies: list[Object] = list(yaml.safe_load_all(block))
    for policy in policies:
        chosen = policy["spec"]["podSelector"]
        wanted: dict[str, set[str]] = {key: {value} for key, value in chosen.get("matchLabels", {}).items()}
        wanted |= {each["key"]: set(each["values"]) for each in chosen.get("matchExpressions", [])}
        ports = {
            port["containerPort"]
            for running in containers(OBJECTS)
            if all(
                pod_of(running.workload)["metadata"]["labels"].get(key) in values
                for key, values in wanted.items()
            )
            for port in running.container.get("ports", [])
        }
        opened = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        assert opened == ports
