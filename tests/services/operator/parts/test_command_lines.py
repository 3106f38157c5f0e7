"""What the operator writes as arguments is what the programs take: a flag that one side renames is found here."""

import re
from pathlib import Path
from typing import Any

import pytest

from tangram.cli.app import app
from tangram.services.operator.parts.catalogue import PARTS
from tangram.services.operator.parts.pods import Site
from tangram.wire.operator.reading import read_spec

SITE = Site(namespace="metax-operator", image="registry.example/gpu/tangram:1.2.3", version="1.2.3")
FULL: dict[str, Any] = {
    "image": {"registry": "registry.example/gpu"},
    "driver": {"payload": {"version": "2.32.0"}, "publicKeySecret": "key", "loader": "simulated:unix:/x"},
    "maca": {
        "payload": {"images": ["maca-c500:1", "maca-native:2"]},
        "cleanupConfig": {"cleanupPolicy": "OlderVersionFirst", "threshold": 2},
    },
    "runtime": {"config": {"cdiMode": "env", "engine": "cri-o"}},
    "devicePlugin": {"driver": "simulated:unix:/x"},
}
SPECS = {
    "full": FULL,
    "never": {"driver": {"deployPolicy": "Never"}, "log": {"dir": "", "level": "warn"}},
    "without-runtime": {"driver": {"deployPolicy": "Never"}, "runtime": {"deploy": False}},
    "without-driver-manager": {"driver": {"deploy": False}},
}
PAYLOAD_TOOL = Path(__file__).parents[4] / "runtime" / "cmd" / "mx-payload" / "main.go"


def containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    wanted = read_spec({"spec": spec})
    pods = [
        thing["spec"]["template"]["spec"]
        for part in PARTS
        if part.wanted(wanted)
        for thing in part.make(wanted, SITE)
        if thing["kind"] == "DaemonSet"
    ]
    return [each for pod in pods for each in (*pod.get("initContainers", ()), *pod["containers"])]


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_every_command_of_ours_takes_its_arguments(spec: dict[str, Any]) -> None:
    ours = [each for each in containers(spec) if each["command"] == ["tangram"]]
    assert len(ours) >= 2
    for each in ours:
        command, bound, *_ = app.parse_args(each["args"], exit_on_error=False, print_error=False)
        assert command.__name__ == each["args"][0].replace("-", "_")
        assert not bound.args, "everything is an option"


def test_the_payload_program_takes_its_arguments() -> None:
    source = PAYLOAD_TOOL.read_text("utf-8")
    flags = {f"--{name}" for name in re.findall(r'options\.(?:String|Bool)\("([a-z]+)"', source)}
    commands = set(re.findall(r'case "([a-z-]+)"', source))
    tools = [each for each in containers(FULL) if each["command"] != ["tangram"]]
    assert len(tools) == 5, "two DaemonSets, each with the program's own container"
    for each in tools:
        assert each["args"][0] in commands
        assert {word for word in each["args"] if word.startswith("--")} <= flags
