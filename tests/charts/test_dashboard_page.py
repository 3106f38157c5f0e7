"""The values for a proxy in `docs/dashboard-security.md` are values of the chart, and fit what the chart makes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import yaml

from builders.charts.cases import TANGRAM, case_named
from builders.charts.goldens import CHARTS, ROOT, objects_of
from builders.charts.reading import of_kind, pod_of

PAGE: Final = (ROOT / "docs" / "dashboard-security.md").read_text("utf-8")
VALUES: Final = yaml.safe_load((CHARTS / TANGRAM / "values.yaml").read_text("utf-8"))


def example() -> dict[str, Any]:
    (found,) = re.findall(r"```yaml\n(dashboard:.*?)```", PAGE, re.DOTALL)
    return yaml.safe_load(found)


def unknown(given: Mapping[str, Any], known: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for name, value in given.items():
        if name not in known:
            yield f"{path}{name}"
        elif isinstance(value, dict):
            yield from unknown(cast("Mapping[str, Any]", value), known[name], f"{path}{name}.")


def pod_of_case(name: str) -> dict[str, Any]:
    (found,) = [
        each
        for each in of_kind(objects_of(case_named(TANGRAM, name)), "Deployment")
        if each["metadata"]["name"] == "tangram-dashboard"
    ]
    return pod_of(found)["spec"]


def after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def test_the_pages_values_are_the_charts() -> None:
    assert list(unknown(example(), VALUES)) == []


def test_the_pages_proxy_reaches_the_door_for_it_and_is_reached_by_the_service() -> None:
    proxy = example()["dashboard"]["proxy"]
    (container,) = proxy["containers"]
    options = dict(each.removeprefix("--").split("=", 1) for each in container["args"])
    dashboard = pod_of_case("dashboard.signIn")["containers"][0]
    assert options["upstream"] == f"http://{after(dashboard['args'], '--proxy-address')}/"
    assert options["https-address"] == f":{proxy['port']}"


def test_the_pages_proxy_finds_the_certificate() -> None:
    (container,) = example()["dashboard"]["proxy"]["containers"]
    volumes = {each["name"] for each in pod_of_case("dashboard.tlsSecretName")["volumes"]}
    (mount,) = container["volumeMounts"]
    assert mount["name"] in volumes
    options = dict(each.removeprefix("--").split("=", 1) for each in container["args"])
    assert options["tls-cert-file"] == f"{mount['mountPath']}/tls.crt"
    assert options["tls-key-file"] == f"{mount['mountPath']}/tls.key"
