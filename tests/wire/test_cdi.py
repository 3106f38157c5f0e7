import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.wire.cdi import (
    CdiDevice,
    CdiDeviceNode,
    CdiMount,
    CdiSpec,
    qualified_name,
    spec_file_name,
    spec_text,
)
from tangram.wire.errors import WireError

KIND = "tangram.dev/sgpu"


def spec(*devices: CdiDevice, kind: str = KIND) -> CdiSpec:
    return CdiSpec(kind=kind, devices=devices)


def test_a_spec_says_what_each_name_adds_and_nothing_that_was_not_given() -> None:
    text = spec_text(
        spec(
            CdiDevice(
                name="1",
                env={"VISIBLE": "0,1", "EMPTY": ""},
                device_nodes=(
                    CdiDeviceNode(path="/dev/mxcd", permissions="rw"),
                    CdiDeviceNode(path="/dev/a", host_path="/dev/b", type="c", major=10, minor=3),
                ),
                mounts=(CdiMount(host_path="/opt/x", container_path="/x", options=("ro", "bind")),),
            ),
            CdiDevice(name="two", env={"A": "1"}),
        )
    )
    assert json.loads(text) == {
        "cdiVersion": "0.6.0",
        "kind": KIND,
        "devices": [
            {
                "name": "1",
                "containerEdits": {
                    "env": ["VISIBLE=0,1", "EMPTY="],
                    "deviceNodes": [
                        {"path": "/dev/mxcd", "permissions": "rw"},
                        {"path": "/dev/a", "hostPath": "/dev/b", "type": "c", "major": 10, "minor": 3},
                    ],
                    "mounts": [{"hostPath": "/opt/x", "containerPath": "/x", "options": ["ro", "bind"]}],
                },
            },
            {"name": "two", "containerEdits": {"env": ["A=1"]}},
        ],
    }


GOOD = CdiDevice(name="a", env={"A": "1"})


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        pytest.param(spec(), "cdi-devices", id="no-device"),
        pytest.param(spec(GOOD, GOOD), "cdi-devices", id="a-device-twice"),
        pytest.param(spec(CdiDevice(name="a")), "cdi-empty", id="nothing-added"),
        pytest.param(spec(GOOD, kind="sgpu"), "cdi-kind", id="kind-without-vendor"),
        pytest.param(spec(GOOD, kind="tangram.dev/s/gpu"), "cdi-kind", id="kind-of-three-parts"),
        pytest.param(spec(GOOD, kind="0.dev/sgpu"), "cdi-kind", id="vendor-begins-with-a-digit"),
        pytest.param(spec(GOOD, kind="t/sgpu"), "cdi-kind", id="vendor-of-one-letter"),
        pytest.param(spec(GOOD, kind="tangram.dev/s"), "cdi-kind", id="class-of-one-letter"),
        pytest.param(spec(CdiDevice(name="a b", env={"A": "1"})), "cdi-name", id="name-with-a-blank"),
        pytest.param(spec(CdiDevice(name="a-", env={"A": "1"})), "cdi-name", id="name-ends-with-a-dash"),
        pytest.param(spec(CdiDevice(name="a\n", env={"A": "1"})), "cdi-name", id="name-with-a-line-end"),
        pytest.param(spec(CdiDevice(name="a", env={"": "1"})), "cdi-env", id="variable-without-a-name"),
        pytest.param(
            spec(CdiDevice(name="a", env={"A=B": "1"})), "cdi-env", id="variable-with-an-equals-sign"
        ),
        pytest.param(spec(CdiDevice(name="a", env={"A": "\0"})), "cdi-env", id="value-with-a-nul"),
        pytest.param(spec(CdiDevice(name="a", env={"A": "\ud800"})), "text-not-utf8", id="half-a-character"),
        pytest.param(
            spec(CdiDevice(name="a", device_nodes=(CdiDeviceNode(path="dev/x"),))),
            "cdi-path",
            id="path-relative",
        ),
        pytest.param(
            spec(CdiDevice(name="a", device_nodes=(CdiDeviceNode(path="/dev/x", permissions="rx"),))),
            "cdi-permissions",
            id="permission-unknown",
        ),
        pytest.param(
            spec(CdiDevice(name="a", mounts=(CdiMount(host_path="", container_path="/x"),))),
            "cdi-path",
            id="mount-of-nothing",
        ),
    ],
)
def test_what_a_runtime_would_refuse_is_not_written(wrong: CdiSpec, code: str) -> None:
    with pytest.raises(WireError) as caught:
        spec_text(wrong)
    assert caught.value.code == code


@given(st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_.:-]{0,20}[A-Za-z0-9])?", fullmatch=True))
def test_a_qualified_name_has_kind_and_device(device: str) -> None:
    assert qualified_name(KIND, device) == f"{KIND}={device}"


@pytest.mark.parametrize(
    ("kind", "device"),
    [
        ("", "c"), ("a", "c"), ("/b", "c"), ("a/", "c"),
        ("a/b", ""), ("a/b", "c=d"), ("a/b", "c/d"), ("a/b", "c\n"),
    ],
)  # fmt: skip
def test_what_can_be_no_qualified_name_is_refused(kind: str, device: str) -> None:
    with pytest.raises(WireError, match="CDI"):
        qualified_name(kind, device)


def test_spec_files_are_named_after_kind_and_owner() -> None:
    assert spec_file_name(KIND, "team-a/pod-1") == "tangram.dev-sgpu_team-a_pod-1.json"


# Surrogates included: file names that came from the operating system can hold them.
@given(st.text(st.characters(), max_size=300))
def test_every_owner_gives_a_legal_file_name_or_a_refusal(owner: str) -> None:
    name = file_name_or_none(owner)
    assert name is None or re.fullmatch(r"tangram\.dev-sgpu_[^/\0]+\.json", name, re.DOTALL)
    assert name is None or len(name.encode()) <= 255


def file_name_or_none(owner: str) -> str | None:
    try:
        return spec_file_name(KIND, owner)
    except WireError:
        return None
