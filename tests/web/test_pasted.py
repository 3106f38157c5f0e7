"""Pasted text is read or refused with one sentence, whatever it is."""

from __future__ import annotations

import json

import msgspec
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tangram.web.catalogue import said
from tangram.web.language import Language
from tangram.web.pasted import MOST_BYTES, MOST_PODS, MOST_VALUES, Unreadable, read_pasted

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{chr(98 + at)}: &{chr(98 + at)} [{', '.join([f'*{chr(97 + at)}'] * 9)}]" for at in range(9)
)
TAIL = "kind: Pod\nmetadata: &m\n  name: a\n  labels: *m\n"


def refusal(text: str, home: str = "default") -> str:
    with pytest.raises(Unreadable) as error:
        read_pasted(text, home)
    return said(Language.ENGLISH, error.value.key, **error.value.values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "nothing in it", id="nothing"),
        pytest.param("# a comment\n---\n", "nothing in it", id="a comment"),
        pytest.param("a: [1\n", "Line 2, column 1", id="no end"),
        pytest.param("kind: Pod\nkind: Pod\n", "Line 2, column 1: key 'kind' stands twice", id="a key twice"),
        pytest.param("a: \x00", "Line 1", id="no character"),
        pytest.param("just words", "One of its documents is 'just words'", id="no map"),
        pytest.param("[1, 2]", "One of its documents is a list", id="a list"),
        pytest.param("kind: Service\n", "kinds in it: 'Service'", id="no pods"),
        pytest.param("kind: List\nitems: []\n", "Nothing in it makes pods", id="an empty list"),
        pytest.param("[" * 300 + "]" * 300, "nested more than 200 deep", id="deep YAML"),
        pytest.param('{"a":' * 300 + "1" + "}" * 300, "nested more than 200 deep", id="deep JSON"),
        pytest.param("a: " + "9" * 5000, "cannot be read", id="a number without end"),
        pytest.param('{"a": "\\ud800"}', "cannot be read", id="half a character"),
        pytest.param("a: !!binary aGk=", "cannot be read", id="bytes"),
        pytest.param("a: !!set {x}", "cannot be read", id="a set"),
        pytest.param(BOMB, "aliases stand for more", id="an alias bomb"),
        pytest.param(TAIL, "aliases stand for more", id="what bites its own tail"),
        pytest.param("kind: Pod\nmetadata: {1: x}\n", "A key in it is 1", id="a key that is a number"),
        pytest.param("x" * (MOST_BYTES + 1), "longer than 1,024 KiB", id="too long"),
        pytest.param(
            f"a: 1\nb: [{'x,' * MOST_VALUES}]",
            "Up to line 2 it holds 50,000 keys and values",
            id="too many values",
        ),
        pytest.param("é" * MOST_BYTES, "longer than 1,024 KiB", id="too long in bytes"),
        pytest.param("---\na: 1\n" * 300, "more than 200 documents", id="too many documents"),
        pytest.param("---\nkind: Pod\n" * (MOST_PODS + 1), "makes 21 pods", id="too many pods"),
        pytest.param("kind: Pod\nmetadata: {namespace: A B}\n", "namespace is 'A B'", id="no namespace"),
        pytest.param("kind: Pod\nmetadata: {namespace: [a]}\n", "namespace is a list", id="odd namespace"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(text: str, expected: str) -> None:
    assert expected in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(yaml.safe_dump(POD), id="YAML"),
        pytest.param(json.dumps(POD), id="JSON"),
        pytest.param(yaml.safe_dump(POD, default_flow_style=True), id="YAML with braces"),
    ],
)
def test_yaml_and_json_are_the_same(text: str) -> None:
    (read,) = read_pasted(text, "ml").workloads
    assert read == {**POD, "metadata": {"name": "a", "namespace": "ml"}}


def test_lists_are_taken_apart_and_what_makes_no_pods_is_counted() -> None:
    inner = {"kind": "PodList", "items": [{"metadata": {"name": "b", "namespace": "own"}}]}
    documents = [{"kind": "List", "items": [POD, {"kind": "Service"}, inner]}, {"kind": "Job"}]
    read = read_pasted(yaml.safe_dump_all(documents), "ml")
    assert [each["kind"] for each in read.workloads] == ["Pod", "Pod", "Job"]
    assert [each["metadata"]["namespace"] for each in read.workloads] == ["ml", "own", "ml"]
    assert read.passed_over == 1


def test_several_json_values_follow_each_other() -> None:
    assert len(read_pasted(json.dumps(POD) * 2, "ml").workloads) == 2


def test_anchors_and_merge_keys_that_people_use_are_read() -> None:
    text = "kind: Pod\nmetadata: {name: a, labels: &l {x: y}, annotations: {<<: *l, z: w}}\n"
    (read,) = read_pasted(text, "ml").workloads
    assert read["metadata"]["annotations"] == {"x": "y", "z": "w"}


def test_a_large_manifest_is_still_small() -> None:
    assert MOST_VALUES * 4 < MOST_BYTES


texts = st.one_of(st.text(), st.text(alphabet="{}[]:&*-<>!|'\"#,?%@` \nakind Pod\t"))
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
shapes = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(
                st.sampled_from(["kind", "metadata", "spec", "items", "namespace", "template"]), st.text()
            ),
            st.one_of(inner, st.sampled_from(["Pod", "List", "Job", "CronJob", "PodList"])),
            max_size=5,
        ),
    ),
    max_leaves=20,
)


@given(st.one_of(texts, shapes.map(yaml.safe_dump), shapes.map(json.dumps)))
@example("!!python/object/apply:os.system ['x']")
@example("kind: !!map x")
@example("? [a]\n: b")
@example("\ud800")
def test_no_text_at_all_does_anything_else(text: str) -> None:
    refused: Unreadable | None = None
    try:
        msgspec.json.encode(read_pasted(text, "default").workloads)
    except Unreadable as error:
        refused = error
    for language in Language if refused is not None else ():
        assert refused is not None
        assert said(language, refused.key, **refused.values)
