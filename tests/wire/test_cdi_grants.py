"""Grants as CDI specs: what is written is read back, and nothing else is taken for one."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.model.grants import Grant, GrantedMount, GrantedSlice
from tangram.model.pods import PodRef
from tangram.units.ids import CardUuid, Namespace, PodName, PodUid
from tangram.units.memory import Bytes, from_gib
from tangram.wire.cdi import CdiDeviceNode
from tangram.wire.cdi_grants import (
    GRANT,
    KIND,
    claim_in_file_name,
    claim_name,
    claim_of,
    grant_file_name,
    grant_text,
    read_grant,
)
from tangram.wire.errors import WireError

CLAIMS = st.from_regex(r"c[0-9a-f]{1,32}", fullmatch=True)
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
ENV = {"METAX_SGPUS": "sgpu=0000:10:00.0#2;compute=25;vram=4096;alias=tangram-a"}
NODE = CdiDeviceNode(path="/dev/mxcd", host_path="/sim/dev/mxcd", permissions="rw")


@st.composite
def grants(draw: st.DrawFn) -> Grant:
    slices = st.builds(
        GrantedSlice,
        card=NAMES.map(CardUuid),
        id=st.integers(0, 15),
        name=NAMES,
        memory=st.integers(0, 2**40).map(Bytes),
        cores=st.integers(1, 100),
    )
    return Grant(
        claim=draw(CLAIMS),
        pod=PodRef(Namespace(draw(NAMES)), PodName(draw(NAMES)), PodUid(draw(NAMES))),
        container=draw(NAMES),
        resource="metax-tech.com/sgpu",
        ids=tuple(draw(st.lists(NAMES, max_size=4))),
        cards=tuple(map(CardUuid, draw(st.lists(NAMES, max_size=4)))),
        slices=tuple(draw(st.lists(slices, max_size=3))),
    )


@given(grants())
def test_a_grant_is_read_back_from_its_file(grant: Grant) -> None:
    assert read_grant(grant_text(grant, ENV, (NODE,))) == grant
    assert claim_in_file_name(grant_file_name(grant.claim)) == grant.claim
    assert claim_of(claim_name(grant.claim)) == grant.claim


GIVEN = Grant(
    claim="c0ffee",
    pod=PodRef(Namespace("team"), PodName("train-0"), PodUid("u-1")),
    container="main",
    resource="metax-tech.com/sgpu",
    ids=("metax-sgpu-3",),
    cards=(CardUuid("GPU-0"),),
    slices=(GrantedSlice(card=CardUuid("GPU-0"), id=2, name="tangram-a", memory=from_gib(4), cores=25),),
)


def test_the_file_is_a_spec_of_one_device_that_adds_exactly_what_was_given() -> None:
    spec = json.loads(grant_text(GIVEN, ENV, (NODE,)))
    assert (spec["cdiVersion"], spec["kind"]) == (spec["cdiVersion"], "tangram.dev/gpu")
    (device,) = spec["devices"]
    assert device["name"] == "c0ffee"
    assert device["containerEdits"]["env"] == [f"METAX_SGPUS={ENV['METAX_SGPUS']}"]
    (node,) = device["containerEdits"]["deviceNodes"]
    assert (node["path"], node["hostPath"], node["permissions"]) == ("/dev/mxcd", "/sim/dev/mxcd", "rw")
    assert json.loads(device["annotations"][GRANT])["container"] == "main"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"kind":"nvidia.com/gpu","devices":[{"name":"0"}]}',
        f'{{"kind":"{KIND}","devices":[]}}',
        f'{{"kind":"{KIND}","devices":[{{}},{{}}]}}',
        f'{{"kind":"{KIND}","devices":[{{"name":"c1"}}]}}',
        f'{{"kind":"{KIND}","devices":[{{"annotations":{{"{GRANT}":"not json"}}}}]}}',
        f'{{"kind":"{KIND}","devices":[{{"annotations":{{"{GRANT}":"{{}}"}}}}]}}',
        f'{{"kind":"{KIND}","devices":[{{"annotations":{{"{GRANT}":3}}}}]}}',
        f'{{"kind":"{KIND}","devices":["c1"]}}',
    ],
)
def test_a_file_that_is_no_grant_is_refused(content: str) -> None:
    with pytest.raises(WireError):
        read_grant(content)


@given(st.text(max_size=200))
def test_no_text_is_anything_but_a_grant_or_a_refusal(content: str) -> None:
    with pytest.raises(WireError):
        read_grant(content)


@pytest.mark.parametrize(
    "name", ["", "nvidia.com/gpu=0", "tangram.dev/gpu", "tangram.dev/gpu=", "tangram.dev/gpus=c1"]
)
def test_names_of_others_are_no_claims(name: str) -> None:
    assert claim_of(name) is None


@pytest.mark.parametrize(
    "name", ["", "nvidia.json", "tangram.dev-gpu.json", ".x.json", "tangram.dev-gpu_c1.json.new"]
)
def test_files_of_others_are_no_claims(name: str) -> None:
    assert claim_in_file_name(name) is None


def test_a_grant_that_adds_nothing_is_refused_because_runtimes_refuse_it() -> None:
    with pytest.raises(WireError, match="adds nothing"):
        grant_text(GIVEN, {}, ())


def test_folders_of_the_host_are_mounts_that_cannot_be_written() -> None:
    seen = msgspec.structs.replace(GIVEN, mounts=(GrantedMount(host="/opt/maca-2.30.0.2", path="/opt/maca"),))
    text = grant_text(seen, ENV, (NODE,))
    assert read_grant(text) == seen
    assert json.loads(text)["devices"][0]["containerEdits"]["mounts"] == [
        {
            "hostPath": "/opt/maca-2.30.0.2",
            "containerPath": "/opt/maca",
            "options": ["ro", "nosuid", "nodev", "rbind", "rprivate"],
        }
    ]


def test_a_grant_without_folders_is_written_as_before_there_were_any() -> None:
    text = grant_text(GIVEN, ENV, (NODE,))
    assert "mounts" not in text
    assert read_grant(text) == GIVEN
