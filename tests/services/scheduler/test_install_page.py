"""`docs/scheduler-install.md` and `docs/scheduler.md` say what the code does, needs and prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.api_server import Object
from builders.charts.policies import KINDS, trust_manifests
from builders.commands import run
from tangram.cli.app import app
from tangram.engine.ledger import Ledger
from tangram.services.scheduler.metrics_of_hami import QuotaFigure, hami_lines
from tangram.services.scheduler.settings import SchedulerSettings
from tangram.vendors.renaming import usual_names
from tangram.wire.trust_policy import TrustedAccounts, guarded_requests

DOCS = Path(__file__).parents[3] / "docs"
INSTALL = (DOCS / "scheduler-install.md").read_text("utf-8")
PAGE = (DOCS / "scheduler.md").read_text("utf-8")
SETTINGS = SchedulerSettings()
HOME, NAME = SETTINGS.service.namespace, SETTINGS.service.name
OBJECTS: list[Object] = [
    thing
    for block in re.findall(r"```yaml\n(.*?)```", INSTALL, re.DOTALL)
    for thing in yaml.safe_load_all(block)
]


def of_kind(kind: str) -> Any:  # noqa: ANN401 - whatever the page says
    (found,) = [thing for thing in OBJECTS if thing["kind"] == kind]
    return found


def test_everything_is_bound_to_the_account_that_the_pods_run_as() -> None:
    account = of_kind("ServiceAccount")["metadata"]
    subject = {"kind": "ServiceAccount", **account}
    bindings = [thing for thing in OBJECTS if thing["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    assert [thing["subjects"] for thing in bindings] == [[subject]] * 5
    assert of_kind("Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == account["name"]
    assert SETTINGS.account == f"system:serviceaccount:{account['namespace']}:{account['name']}"


# ---- what stands in the blocks


def test_the_configuration_is_what_the_command_prints() -> None:
    printed = run("scheduler", "--print-kube-scheduler-config")
    assert printed.status == 0
    assert yaml.safe_load(of_kind("ConfigMap")["data"]["kube-scheduler.yaml"]) == json.loads(printed.out)


def test_the_policy_is_the_one_that_the_chart_makes() -> None:
    accounts = TrustedAccounts(scheduler=SETTINGS.account, agents=SETTINGS.agents)
    assert [of_kind(kind) for kind in KINDS] == trust_manifests(accounts)


def test_the_webhooks_lead_to_paths_and_a_port_that_are_served() -> None:
    (service,) = of_kind("Service")["spec"]["ports"]
    for kind, path in (
        ("MutatingWebhookConfiguration", "webhook"),
        ("ValidatingWebhookConfiguration", "guard"),
    ):
        configuration = of_kind(kind)
        assert configuration["metadata"]["name"] == SETTINGS.webhooks
        (hook,) = configuration["webhooks"]
        assert hook["clientConfig"] == {
            "service": {"name": NAME, "namespace": HOME, "path": f"/{path}", "port": service["port"]}
        }
    assert of_kind("ValidatingWebhookConfiguration")["webhooks"][0]["rules"] == guarded_requests()


def test_the_api_server_asks_about_every_pod_that_names_a_resource_of_ours() -> None:
    (condition,) = of_kind("MutatingWebhookConfiguration")["webhooks"][0]["matchConditions"]
    assert set(re.findall(r'"([^"]+)"', condition["expression"])) == usual_names()


def test_the_containers_command_can_be_read() -> None:
    kube, ours = of_kind("Deployment")["spec"]["template"]["spec"]["containers"]
    command, bound, _ = app.parse_args(ours["command"][1:], exit_on_error=False, print_error=False)
    assert command.__name__ == "scheduler"
    assert bound.arguments["config"] == Path("/etc/tangram/scheduler.yaml")
    assert kube["command"][1:] == [
        "--config=/etc/tangram/kube-scheduler.yaml",
        "--pod-max-in-unschedulable-pods-duration=30s",
    ]
    assert {"kube-scheduler.yaml", "scheduler.yaml"} == set(of_kind("ConfigMap")["data"])


# ---- the page beside it


def test_every_option_is_described() -> None:
    shown = run("scheduler", "--help").out
    options = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", shown)) - {"--help"}
    # Cyclopts adds its own way to say "none", and breaks the longest name over two lines.
    told = {option for option in options if not option.startswith("--empty-")}
    missing = [option for option in sorted(told) if f"`{option}`" not in PAGE and f"`{option}g`" not in PAGE]
    assert missing == []


def test_every_metric_of_hamis_is_in_the_table() -> None:
    quotas = [QuotaFigure("n", "q", 1, 2)]
    text = b"".join(hami_lines(Ledger(), quotas, legacy=True)).decode()
    names = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    table = PAGE.partition("| Metric | Old name | Of |")[2].partition("\n\n")[0]
    assert names == set(re.findall(r"`(\w+)`", table))


def test_every_sentence_that_people_are_told_to_look_for_is_one_of_ours() -> None:
    table = PAGE.partition("| You see | It means | Do |")[2].partition("\n\n")[0]
    seen = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    sought = [text for cell in seen for text in re.findall(r"`([^`]+)`", cell)]
    source = Path(__file__).parents[3] / "src" / "tangram"
    code = " ".join(file.read_text("utf-8") for file in (source / "services" / "scheduler").glob("*.py"))
    theirs = {'failed calling webhook "pods.tangram.dev"', "of 8 pods of gang"}
    assert len(sought) >= 8
    assert [text for text in sought if text not in code and text not in theirs] == []
    assert "pods of gang" in code


@pytest.mark.parametrize(
    ("module", "number", "words"),
    [
        pytest.param("nominating.MOST_AHEAD", 256, "up to 256 are decided ahead", id="decided-ahead"),
        pytest.param("preempting.MOST_NODES", 8, "closely at 8 nodes", id="preemption"),
        pytest.param("leadership.BIND_LIMIT_S", 4.0, "in the last 4 s of a Lease", id="bind"),
        pytest.param("leadership.STALE_S", 3.0, "not followed the API server for 3 s", id="stale"),
        pytest.param("takeover.SETTLE_S", 1.0, "a read of the API server and 1 s", id="take-over"),
        pytest.param("verdicts.MOST_VERDICTS", 20_000, "bounded (20,000, 16 MiB)", id="verdicts"),
    ],
)
def test_figures_on_the_page_are_those_of_the_code(module: str, number: float, words: str) -> None:
    file, _, name = module.partition(".")
    found = __import__(f"tangram.services.scheduler.{file}", fromlist=[name])
    assert getattr(found, name) == number
    assert words in " ".join(PAGE.split())
