"""`docs/monitoring.md` names what the chart makes, where it is read, and who may."""

import json
import re
from pathlib import Path

import yaml

from builders.charts.cases import TANGRAM, case_named
from builders.charts.goldens import CHARTS, ROOT, Object, key_of, objects_of
from builders.charts.reading import containers, labels_of, of_kind, ports_of

PAGE = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
OBJECTS = [
    *objects_of(case_named(TANGRAM, "monitoring.serviceMonitor.with-gpu-aware")),
    *(
        each
        for each in objects_of(case_named(TANGRAM, "dashboard.with-monitor"))
        if labels_of(each)["app.kubernetes.io/component"] == "dashboard"
    ),
]
BLOCKS = [
    thing
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for thing in yaml.safe_load_all(block)
]


def rows(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_monitor_is_on_the_page_with_the_port_it_leads_to() -> None:
    told = {
        cells[1].replace("`", ""): (cells[0].strip("`"), int(cells[2].split(",")[0]))
        for cells in rows("What is read")
    }
    assert told == {
        key_of(each): (component(each), port_behind(each))
        for each in of_kind(OBJECTS, "ServiceMonitor", "PodMonitor")
    }


def component(thing: Object) -> str:
    return labels_of(thing)["app.kubernetes.io/component"]


def port_behind(monitor: Object) -> int:
    (endpoint,) = monitor["spec"].get("endpoints") or monitor["spec"]["podMetricsEndpoints"]
    (found,) = [
        ports_of(running.container)[endpoint["port"]]
        for running in containers(OBJECTS)
        if component(running.workload) == component(monitor)
        and endpoint["port"] in ports_of(running.container)
    ]
    return found


def test_the_pages_binding_is_of_the_role_that_the_chart_makes() -> None:
    (binding,) = [each for each in BLOCKS if each.get("kind") == "ClusterRoleBinding"]
    (role,) = [each for each in of_kind(OBJECTS, "ClusterRole") if component(each) == "metrics-reader"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_the_pages_targets_are_those_of_the_monitors() -> None:
    (page,) = [each["scrape_configs"] for each in BLOCKS if "scrape_configs" in each]
    scheduler, nodes = page
    (monitor,) = of_kind(OBJECTS, "ServiceMonitor")
    (endpoint,) = monitor["spec"]["endpoints"]
    assert scheduler["tls_config"]["server_name"] == endpoint["tlsConfig"]["serverName"]
    assert scheduler["authorization"]["credentials_file"] == endpoint["bearerTokenFile"]
    kept = nodes["relabel_configs"][0]["regex"].split("|")
    assert set(kept) == {component(each) for each in of_kind(OBJECTS, "PodMonitor")}


def test_every_dashboard_is_on_the_page_with_its_title() -> None:
    files = sorted((CHARTS / TANGRAM / "dashboards").glob("*.json"))
    assert {(cells[0].strip("`"), cells[1]) for cells in rows("Dashboards")} == {
        (f"{file.stem}-dashboard", title(file)) for file in files
    }


def title(file: Path) -> str:
    return json.loads(file.read_text("utf-8"))["title"]
