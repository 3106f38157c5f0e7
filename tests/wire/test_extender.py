"""kube-scheduler's questions as they are read: names in any case, and nothing that could not be a name."""

import msgspec
import pytest

from tangram.wire.errors import WireError
from tangram.wire.extender import BindCall, read_bind, read_filter, read_preempt
from tangram.wire.whole_nodes import read_call

ORDER = {"PodName": "p", "PodNamespace": "ns", "PodUID": "2c1e-77", "Node": "gpu-1.example"}
POD = {"metadata": {"name": "p", "namespace": "ns", "uid": "2c1e-77"}}
DEEP = b"[" * 100_000 + b"]" * 100_000


def body(document: object) -> bytes:
    return msgspec.json.encode(document)


def test_names_of_fields_come_in_any_case() -> None:
    assert read_bind(body({key.lower(): value for key, value in ORDER.items()})) == BindCall(
        "p", "ns", "2c1e-77", "gpu-1.example"
    )
    assert read_filter(body({"pod": POD, "nodenames": ["a"]})).names == ("a",)
    asked = read_preempt(body({"POD": POD, "NODENAMETOMETAVICTIMS": {"a": {"PODS": [{"uid": "v"}]}}}))
    assert asked.victims == {"a": ("v",)}


@pytest.mark.parametrize("field", [*ORDER])
@pytest.mark.parametrize("value", ["", "\n", "x" * 254, "a\0", "\ud7ff\u202e\n"])
def test_an_order_with_a_field_that_could_not_be_a_name_is_no_order(field: str, value: str) -> None:
    with pytest.raises(WireError) as caught:
        read_bind(body({**ORDER, field: value}))
    assert caught.value.sentence.startswith(f"{field} is ")
    assert len(caught.value.sentence) < 300


@pytest.mark.parametrize("field", ["PodName", "PodNamespace", "Node"])
@pytest.mark.parametrize("value", ["..", "a/b", "a?watch=1", "a#b", "a b", "-a", "%2e%2e"])
def test_a_name_never_changes_the_path_it_is_put_into(field: str, value: str) -> None:
    with pytest.raises(WireError):
        read_bind(body({**ORDER, field: value}))


@pytest.mark.parametrize(
    "metadata",
    [{}, {"uid": 5}, {"uid": ""}, {"uid": "u" * 129}, {"uid": "a\nb"}, {"uid": "u", "name": "n" * 254}],
)
def test_a_pod_that_no_api_server_could_have_sent_has_no_uid(metadata: object) -> None:
    assert read_filter(body({"Pod": {"metadata": metadata}, "NodeNames": []})).uid() == ""


def test_lists_in_lists_without_end_are_refused_wherever_they_stand() -> None:
    deep = msgspec.Raw(DEEP)
    documents: list[object] = [{"Pod": deep}, {"Pod": {"spec": deep}, "NodeNames": ["a"]}, {"PodName": deep}]
    for document in documents:
        for read in (read_filter, read_bind, read_preempt):
            with pytest.raises(WireError):
                read(body(document))
    with pytest.raises(WireError):
        read_preempt(body({"Pod": POD, "NodeNameToVictims": {"a": deep}}))
    for nodes in (deep, {"items": [{"metadata": {"name": "a"}, "status": deep}]}):
        with pytest.raises(WireError):
            read_call(body({"Pod": POD, "Nodes": nodes}))


@pytest.mark.parametrize(
    ("written", "read"), [(b"-1", 0), (b"7", 7), (b"1e30", 1 << 31), (b"18446744073709551615", 1 << 31)]
)
def test_a_number_of_violations_fits_into_the_answer(written: bytes, read: int) -> None:
    victims = {"a": {"NumPDBViolations": msgspec.Raw(written)}}
    assert read_preempt(body({"Pod": POD, "NodeNameToMetaVictims": victims})).violations == {"a": read}
