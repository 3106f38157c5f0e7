"""`tangram migrate hami` through the real command line: what helm can take, and what people are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders.commands import Answer, run

VALUES = """\
USER-SUPPLIED VALUES:
device:
  mthreads:
    enabled: "false"
    customresources: [mthreads.com/vgpu, example.com/card]
metaxResourceName: example.com/sgpu
scheduler:
  replicas: 3
  replcas: 4
  patch: {enabled: true}
  kubeScheduler: {imageTag: v1.30.1}
resourceName: nvidia.com/gpu
resourceMem: nvidia.com/gpumem
"""


def migrated(text: str | bytes, *words: str) -> Answer:
    return run("migrate", "hami", "--values", "-", *words, stdin=text)


def test_standard_output_is_a_file_that_helm_takes_with_the_old_name_above_each_new_one() -> None:
    answer = migrated(VALUES)
    assert yaml.safe_load(answer.out) == {
        "gpuDevice": {"enabled": False},
        "gpuLabel": {"enabled": False},
        "devices": {"mthreads": {"enabled": False}},
        "scheduler": {
            "deviceConfig": {"metax": {"resourceVCountName": "example.com/sgpu"}},
            "replicas": 3,
            "kubeScheduler": {"image": {"tag": "v1.30.1"}},
        },
    }
    lines = [line.strip() for line in answer.out.splitlines()]
    above = lines[: lines.index("resourceVCountName: example.com/sgpu")]
    assert "# HAMi's metaxResourceName." in " ".join(above[-2:])
    assert max(map(len, lines)) <= 120


def test_standard_error_says_the_gravest_first_and_one_sentence_once() -> None:
    answer = migrated(VALUES)
    assert answer.status == 1
    titles = [line for line in answer.err.splitlines() if not line.startswith(" ")]
    assert titles == [
        "Not supported, so something will be different:",
        "Not known, so nothing was made of it:",
        "Not needed any more:",
    ]
    assert "did you mean\n    scheduler.replicas?" in answer.err
    assert "  resourceName, resourceMem\n" in answer.err
    assert answer.err.count("other vendors' cards") == 1


def test_json_has_values_and_what_became_of_every_one_of_theirs() -> None:
    answer = migrated(VALUES, "-o", "json")
    assert (answer.status, answer.err) == (1, "")
    told = json.loads(answer.out)
    assert (told["tangram"], list(told)) == ("migrate/v1", ["tangram", "values", "notes"])
    assert told["values"] == yaml.safe_load(migrated(VALUES).out)
    assert {note["key"]: note["outcome"] for note in told["notes"]} == {
        "metaxResourceName": "mapped",
        "scheduler.replicas": "mapped",
        "scheduler.kubeScheduler.imageTag": "mapped",
        "device.mthreads.enabled": "mapped",
        "device.mthreads.customresources": "not-supported",
        "scheduler.patch": "not-needed",
        "resourceName": "not-needed",
        "resourceMem": "not-needed",
        "scheduler.replcas": "unknown",
    }


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "{}",
        "USER-SUPPLIED VALUES:\nnull\n",
        "\nCOMPUTED VALUES:\nscheduler:\n  livenessProbe: false\n",
    ],
    ids=["null", "empty", "helm get values", "helm get values -a"],
)
def test_what_helm_prints_of_a_plain_release_is_read(text: str) -> None:
    answer = migrated(text)
    assert (answer.status, answer.err) == (0, "")
    assert yaml.safe_load(answer.out) == {"gpuDevice": {"enabled": False}, "gpuLabel": {"enabled": False}}


def test_a_file_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "values.json"
    path.write_text('{"scheduler": {"replicas": 2}}')
    answer = run("migrate", "hami", "--values", str(path))
    assert yaml.safe_load(answer.out)["scheduler"] == {"replicas": 2}


def test_texts_that_look_like_something_else_stay_texts() -> None:
    values = {
        "scheduler": {
            "kubeScheduler": {"image": {"tag": "1.30"}},
            "extender": {"resources": {"requests": {"cpu": "1"}}},
        }
    }
    written = yaml.safe_load(migrated(json.dumps(values)).out)["scheduler"]
    assert written == {"kubeScheduler": {"image": {"tag": "1.30"}}, "resources": {"requests": {"cpu": "1"}}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "standard input is empty: give a file with something in it.", id="empty"),
        pytest.param("- a\n", "standard input: the values are a list: they are a map, as helm", id="list"),
        pytest.param("hello", "standard input: the values are 'hello': they are a map", id="word"),
        pytest.param("a: 1\n---\nb: 1\n", "standard input holds 2 documents: the values of one", id="two documents"),
        pytest.param("a: [", "standard input line 2, column 1: while parsing a flow node", id="no yaml"),
        pytest.param(
            "a: 1\nscheduler:\n  x: 1\n  replicas: many\n",
            "standard input line 4: scheduler.replicas is 'many': it is a whole number of 0 or more",
            id="kind",
        ),
        pytest.param("a: 1\nscheduler.replicas: many\n", "standard input line 2: scheduler.replicas is", id="dotted"),
        pytest.param('{"scheduler":\n {"replicas": -1}}', "standard input line 2: scheduler.replicas is -1", id="json"),
        pytest.param(
            "scheduler:\n  extender:\n    extraArgs: [--leader-elect=maybe]\n",
            "standard input line 3: scheduler.extender.extraArgs --leader-elect is 'maybe': it is true or false",
            id="option",
        ),
        pytest.param(
            "device: {mthreads: {enabled: true}}\ndevices:\n  mthreads:\n    enabled: false\n",
            "standard input line 4: device.mthreads.enabled and devices.mthreads.enabled are two spellings",
            id="spellings",
        ),
        pytest.param(
            "device-config:\n  content: |\n    metax:\n  resourceVCountName: [\n",
            "standard input line 5, column 1",
            id="content that ended early",
        ),
        pytest.param(
            "device-config:\n  content: |\n    metax: [\n",
            "standard input line 2: device-config.content is no YAML: line 2",
            id="content",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_one_sentence_and_the_line(text: str, sentence: str) -> None:
    answer = migrated(text)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert answer.err.endswith(".\n")
    assert answer.err.count("\n") == 1


def test_another_format_is_refused() -> None:
    answer = migrated("{}", "-o", "table")
    assert (answer.status, answer.out) == (2, "")
    assert "-o is 'table': it is yaml or json" in answer.err


def test_without_a_file_the_help_is_named() -> None:
    answer = run("migrate", "hami")
    assert answer.status == 2
    assert "--values" in answer.err


@given(st.text(max_size=80) | st.binary(max_size=80))
def test_no_input_ends_in_a_traceback(text: str | bytes) -> None:
    given_text = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    for form in ("yaml", "json"):
        answer = migrated(given_text, "-o", form)
        assert answer.status in (0, 1, 2)
        assert "Traceback" not in answer.err


@given(st.dictionaries(st.text(max_size=6), st.text(max_size=6) | st.integers() | st.floats(), max_size=4))
def test_no_values_end_in_a_traceback(values: dict[str, object]) -> None:
    text = json.dumps(
        {**values, "scheduler": values, "device-config": {"content": json.dumps({"metax": values})}}
    )
    for form in ("yaml", "json"):
        answer = migrated(text, "-o", form)
        assert answer.status in (0, 1, 2)
        if answer.status < 2:
            assert json.loads(answer.out) if form == "json" else yaml.safe_load(answer.out)
