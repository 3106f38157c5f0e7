"""Values of HAMi's chart as values of ours: every one has its place, a reason, or a question to whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders.charts.schema_check import complaints
from shipping.charts.options import chart_schemas
from tangram.wire.errors import WireError
from tangram.wire.hami_device_config import read_hami_device_config
from tangram.wire.hami_values.flags import FLAGS
from tangram.wire.hami_values.other_vendors import OTHER_VENDORS
from tangram.wire.hami_values.reading import HamiValuesError
from tangram.wire.hami_values.rows import Flag, Kind, Outcome, Row
from tangram.wire.hami_values.table import ROWS
from tangram.wire.hami_values.translating import AT_FIRST, Translation, translate
from tangram.wire.scheduler_config import KEY, KEYS, VERSION, read_scheduler_config

CHART = Path(__file__).parents[2] / "deploy" / "charts" / "tangram" / "values.yaml"
OURS: dict[str, Any] = yaml.safe_load(CHART.read_text("utf-8"))
SCHEMA = chart_schemas()["tangram"]
AGENTS = {"gpuDevice": {"enabled": False}, "gpuLabel": {"enabled": False}}


def parse(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise WireError("yaml", "line 1: it cannot be read") from error


def nested(key: str, value: object) -> dict[str, object]:
    first, _, rest = key.partition(".")
    return {first: nested(rest, value) if rest else value}


def dotted(key: str, value: object) -> dict[str, object]:
    return {key: value}


def translated(document: object) -> Translation:
    return translate(document, parse)


def said(document: object) -> dict[str, Any]:
    """Our values without the two that are always there."""
    values = translated(document).values
    assert {key: values.pop(key) for key in AGENTS} == AGENTS
    return values


def over(usual: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """Values over the chart's own, as helm lays them."""
    both = {
        key: over(usual[key], cast("dict[str, Any]", value))
        for key, value in said.items()
        if isinstance(value, dict) and isinstance(usual.get(key), dict)
    }
    return usual | said | both


def refused_by_chart(document: object) -> list[str]:
    """What helm would say to the values that come of it."""
    return list(complaints(SCHEMA, over(OURS, translated(document).values)))


def outcomes(document: object) -> dict[str, str]:
    return {note.key: str(note.outcome) for note in translated(document).notes}


# ---- what is carried over

REQUESTS = {"requests": {"cpu": 1}}
LOCK = {"scheduler": {"config": {"nodeLockSeconds": 420}}}
SPREAD = {"scheduler": {"config": {"nodePolicy": "spread"}}}

CARRIED = [
    ("metaxResourceName", "a.io/sgpu", "scheduler.deviceConfig.metax.resourceVCountName", "a.io/sgpu"),
    ("metaxResourceCore", "a.io/core", "scheduler.deviceConfig.metax.resourceVCoreName", "a.io/core"),
    ("metaxResourceMem", "a.io/mem", "scheduler.deviceConfig.metax.resourceVMemoryName", "a.io/mem"),
    ("devices.metax.resourceCountName", "a.io/g", "scheduler.deviceConfig.metax.resourceCountName", "a.io/g"),
    ("metaxsGPUTopologyAware", "true", "scheduler.config.zoneAware", True),
    ("devices.metax.sgpuTopologyAware", True, "scheduler.config.zoneAware", True),
    ("devices.mthreads.memoryPerCard", 160, "scheduler.deviceConfig.mthreads.memoryPerCard", [160]),
    ("device.mthreads.memoryPerCard", ["96", 160], "scheduler.deviceConfig.mthreads.memoryPerCard", [96, 160]),
    ("schedulerName", "gpu-scheduler", "scheduler.name", "gpu-scheduler"),
    (
        "scheduler.defaultSchedulerPolicy.nodeSchedulerPolicy",
        "spread",
        "scheduler.config.nodePolicy",
        "spread",
    ),
    (
        "scheduler.defaultSchedulerPolicy.gpuSchedulerPolicy",
        "binpack,numa",
        "scheduler.config.cardPolicy",
        "binpack,numa",
    ),
    (
        "scheduler.forceOverwriteDefaultScheduler",
        "false",
        "scheduler.config.forceOverwriteDefaultScheduler",
        False,
    ),
    ("scheduler.replicas", "3", "scheduler.replicas", 3),
    ("scheduler.nodeLockExpire", "10m", "scheduler.config.nodeLockSeconds", 600),
    ("scheduler.nodeSelector", {"pool": "system"}, "scheduler.nodeSelector", {"pool": "system"}),
    ("scheduler.tolerations", [{"operator": "Exists"}], "scheduler.tolerations", [{"operator": "Exists"}]),
    ("devices.mthreads.enabled", False, "devices.mthreads.enabled", False),
    ("device.mthreads.enabled", "false", "devices.mthreads.enabled", False),
    ("scheduler.kubeScheduler.enabled", False, "scheduler.kubeScheduler.enabled", False),
    ("scheduler.kubeScheduler.image.tag", "v1.30.1", "scheduler.kubeScheduler.image.tag", "v1.30.1"),
    ("scheduler.kubeScheduler.imageTag", "v1.16.8", "scheduler.kubeScheduler.image.tag", "v1.16.8"),
    ("scheduler.kubeScheduler.tag", "v1.20.0", "scheduler.kubeScheduler.image.tag", "v1.20.0"),
    (
        "scheduler.kubeScheduler.image.registry",
        "a.io",
        "scheduler.kubeScheduler.image.registry",
        "a.io/google_containers",
    ),
    ("global.imageRegistry", "a.io/", "scheduler.kubeScheduler.image.registry", "a.io/google_containers"),
    ("scheduler.kubeScheduler.resources", REQUESTS, "scheduler.kubeScheduler.resources", REQUESTS),
    ("scheduler.extender.resources", REQUESTS, "scheduler.resources", REQUESTS),
    ("scheduler.extender.image.pullPolicy", "Always", "pullPolicy", "Always"),
    ("imagePullSecrets", ["one"], "imagePullSecrets", [{"name": "one"}]),
    ("global.imagePullSecrets", ["one"], "imagePullSecrets", [{"name": "one"}]),
    ("scheduler.admissionWebhook.whitelistNamespaces", ["a", "b"], "scheduler.webhook.ignoreNamespaces", ["a", "b"]),
    ("scheduler.admissionWebhook.failurePolicy", "Fail", "scheduler.webhook.failurePolicy", "Fail"),
    ("scheduler.certManager.enabled", "true", "certificates.source", "cert-manager"),
    ("legacyMetrics", True, "scheduler.legacyMetrics", True),
    ("prometheus.enabled", True, "monitoring.serviceMonitor.enabled", True),
    (
        "device-config.content",
        "nvidia: {a: 1}\nmetax: {resourceVCountName: a.io/s, sgpuTopologyAware: true}\n",
        "scheduler.deviceConfig",
        {"metax": {"resourceVCountName": "a.io/s", "sgpuTopologyAware": True}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "path", "ours"), [pytest.param(*row, id=row[0]) for row in CARRIED])
@pytest.mark.parametrize("shape", [nested, dotted])
def test_a_value_that_ours_has_too_is_carried_over(
    key: str, value: object, path: str, ours: object, shape: Callable[[str, object], object]
) -> None:
    document = shape(key, value)
    assert said(document) == nested(path, ours)
    assert outcomes(document)[key] == "mapped"
    assert translated(document).complete
    assert refused_by_chart(document) == []


def test_every_row_that_is_carried_over_has_been_tried() -> None:
    tried = {row[0] for row in CARRIED}
    others = {
        "scheduler.kubeScheduler.image.repository",
        "scheduler.kubeScheduler.image.pullSecrets",
        "scheduler.extender.image.pullSecrets",
    }
    mapped = [row for row in ROWS if row.way is Outcome.MAPPED and not tried & set(row.spellings)]
    assert {row.key for row in mapped} == others


def test_every_place_a_value_is_carried_to_is_one_that_the_chart_has() -> None:
    def there(path: str) -> bool:
        place: Any = OURS
        for part in path.split("."):
            if part not in place:
                return False
            place = place[part]
        return True

    for path in [row.here for row in ROWS if row.here] + [line.path for line in AT_FIRST] + ["scheduler.log"]:
        if path.startswith("scheduler.config."):
            assert path.removeprefix("scheduler.config.") in KEYS
        elif path.startswith("scheduler.deviceConfig."):
            assert there("scheduler.deviceConfig")
        else:
            assert there(path), path


def test_values_that_are_hamis_own_change_nothing_and_need_no_word() -> None:
    document: dict[str, object] = {}
    for row in ROWS:
        if row.usual:
            document[row.key] = row.usual[-1]
    document["scheduler.extender.extraArgs"] = ["--debug", "-v=4"]
    document["scheduler.kubeScheduler.extraNewArgs"] = ["--config=/config/config.yaml", "-v=4"]
    found = translated(document)
    assert found.values == AGENTS
    assert found.complete
    assert {note.key for note in found.notes} == {row.key for row in ROWS if row.if_usual}


@pytest.mark.parametrize("nothing", [None, {}, {"scheduler": None}])
def test_a_release_installed_as_it_is_gives_values_all_the_same(nothing: object) -> None:
    assert translated(nothing).values == AGENTS
    assert translated(nothing).notes == ()


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.way is Outcome.NOT_SUPPORTED], ids=lambda row: row.key
)
def test_what_is_not_supported_is_told_and_makes_the_answer_incomplete(row: Row) -> None:
    value = row.usual[0] is False if row.kind is Kind.FLAG else ["--else"]
    document = nested(row.key, value)
    assert said(document) == {}
    assert not translated(document).complete
    assert [(note.outcome, note.sentence) for note in translated(document).notes] == [(row.way, row.remark)]


@pytest.mark.parametrize("row", [*ROWS, *OTHER_VENDORS], ids=lambda row: row.key)
def test_whatever_is_empty_says_nothing(row: Row) -> None:
    for spelling in row.spellings:
        assert translated(nested(spelling, None)).notes == ()
        assert translated(nested(spelling, "")).notes == ()


def test_every_remark_is_a_sentence() -> None:
    remarks = [text for row in ROWS for text in (row.remark, row.if_usual) if text]
    assert [
        text for text in (*remarks, *(flag.remark for flag in FLAGS if flag.remark)) if text[-1] != "."
    ] == []
    assert [row.key for row in ROWS if row.way is not Outcome.MAPPED and not row.remark] == []
    assert [flag.name for flag in FLAGS if bool(flag.key) == bool(flag.remark)] == []


# ---- images


@pytest.mark.parametrize(
    ("image", "ours"),
    [
        pytest.param({"registry": "a.io"}, {"registry": "a.io/google_containers"}, id="registry"),
        pytest.param(
            {"registry": "a.io", "repository": "k8s/kube-scheduler"}, {"registry": "a.io/k8s"}, id="both"
        ),
        pytest.param(
            {"registry": "a.io", "repository": "k8s/ks"}, {"registry": "a.io/k8s", "name": "ks"}, id="name"
        ),
        pytest.param(
            "a.io:5000/x/ks", {"registry": "a.io:5000/x", "name": "ks"}, id="one text, as old charts"
        ),
        pytest.param({"repository": "google_containers/kube-scheduler"}, None, id="usual repository"),
    ],
)
def test_kube_schedulers_image_is_registry_and_name(image: object, ours: object) -> None:
    values = said({"scheduler": {"kubeScheduler": {"image": image}}})
    assert values == ({} if ours is None else nested("scheduler.kubeScheduler.image", ours))


def test_a_path_in_a_registry_that_nobody_names_is_not_guessed() -> None:
    found = translated({"scheduler": {"kubeScheduler": {"image": {"repository": "mirror/kube-scheduler"}}}})
    assert (found.values, found.complete) == (AGENTS, False)


def test_secrets_of_all_images_are_joined_each_once() -> None:
    document = {
        "global": {"imagePullSecrets": ["one", {"name": "two"}]},
        "scheduler": {"extender": {"image": {"pullSecrets": ["two", "three"]}}},
    }
    assert said(document) == {"imagePullSecrets": [{"name": "one"}, {"name": "two"}, {"name": "three"}]}


# ---- options


@pytest.mark.parametrize(
    ("words", "values"),
    [
        pytest.param(["--legacy-metrics"], {"scheduler": {"legacyMetrics": True}}, id="switch"),
        pytest.param(["--legacy-metrics=false"], {}, id="switch off"),
        pytest.param(["--node-lock-timeout=7m"], LOCK, id="with ="),
        pytest.param(["--node-lock-timeout", "7m"], LOCK, id="two words"),
        pytest.param(["-node-scheduler-policy=spread"], SPREAD, id="one dash"),
        pytest.param(["--scheduler-name=mine"], {"scheduler": {"name": "mine"}}, id="name"),
        pytest.param(["-v=6"], {"scheduler": {"log": {"level": "debug"}}}, id="loud"),
        pytest.param(["-v", "2"], {}, id="quiet"),
        pytest.param(["-v=6", "-v=2"], {}, id="the last one holds"),
    ],
)  # fmt: skip
def test_an_option_says_what_its_value_would(words: list[str], values: object) -> None:
    assert said({"scheduler": {"extender": {"extraArgs": words}}}) == values


def test_an_option_goes_before_the_value_that_says_the_same() -> None:
    document = {"scheduler": {"nodeLockExpire": "9m", "extender": {"extraArgs": ["--node-lock-timeout=7m"]}}}
    assert said(document)["scheduler"]["config"] == {"nodeLockSeconds": 420}
    assert outcomes(document) == {
        "scheduler.nodeLockExpire": "not-needed",
        "scheduler.extender.extraArgs --node-lock-timeout": "mapped",
    }


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_every_option_is_known_with_its_value_in_either_way(flag: Flag) -> None:
    word = (
        "5m" if "lock" in flag.name else "7" if flag.name == "-v" else "true" if not flag.takes else "other"
    )
    for words in ([f"{flag.name}={word}"], [flag.name, word] if flag.takes else [flag.name]):
        found = outcomes({"scheduler.extender.extraArgs": words})
        assert "unknown" not in found.values()


@pytest.mark.parametrize("word", ["--nodelock=1", "scheduler", "-", "", "--", "-v=loud"])
def test_an_option_nobody_knows_is_told(word: str) -> None:
    found = translated({"scheduler": {"extender": {"extraArgs": [word]}}})
    assert [note.outcome for note in found.notes] == ["unknown"]
    assert not found.complete


# ---- spellings, and what is wrong


@pytest.mark.parametrize("prefix", ["device", "devices"])
@pytest.mark.parametrize("word", [False, "false", "False"])
def test_support_for_moore_threads_is_read_in_both_spellings(prefix: str, word: object) -> None:
    document = {prefix: {"mthreads": {"enabled": word}}}
    assert outcomes(document) == {f"{prefix}.mthreads.enabled": "mapped"}
    assert said(document) == nested("devices.mthreads.enabled", value=False)
    assert outcomes({prefix: {"mthreads": {"enabled": True}}}) == {}


def test_two_spellings_that_agree_are_one() -> None:
    document = {"metaxResourceName": "a.io/s", "devices": {"metax": {"resourceVCountName": "a.io/s"}}}
    assert said(document) == nested("scheduler.deviceConfig.metax.resourceVCountName", "a.io/s")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param([], "the values are a list: they are a map", id="list"),
        pytest.param("hello", "the values are 'hello': they are a map", id="word"),
        pytest.param(7, "the values are 7: they are a map", id="number"),
        pytest.param({"scheduler": [1]}, "scheduler is a list: it is a map of values", id="folder"),
        pytest.param(
            {"scheduler": {"replicas": "x"}}, "scheduler.replicas is 'x': it is a whole number", id="count"
        ),
        pytest.param({"scheduler": {"replicas": -1}}, "it is a whole number of 0 or more", id="negative"),
        pytest.param({"legacyMetrics": "maybe"}, "legacyMetrics is 'maybe': it is true or false", id="flag"),
        pytest.param({"scheduler": {"nodeLockExpire": "soon"}}, "it is a duration such as 5m", id="duration"),
        pytest.param({"scheduler": {"extender": {"resources": 1}}}, "it is a map", id="map"),
        pytest.param({"scheduler": {"tolerations": {"key": "gpu"}}}, "it is a list of maps", id="no-list"),
        pytest.param({"scheduler": {"tolerations": ["gpu"]}}, "it is a list of maps", id="no-maps"),
        pytest.param(
            {"scheduler": {"extender": {"extraArgs": "-v"}}}, "it is a list of words", id="arguments"
        ),
        pytest.param({"global": {"imagePullSecrets": [1]}}, "it is a list of names of Secrets", id="secrets"),
        pytest.param({"schedulerName": "My Own"}, "it is the name of a scheduler, in lower case", id="name"),
        pytest.param({"metaxResourceName": "sgpu"}, "it is the name of an extended resource", id="resource"),
        pytest.param(
            {"metaxResourceName": "a.io/x", "metaxResourceMem": "a.io/x"},
            "are both 'a.io/x'",
            id="one name for two",
        ),
        pytest.param(
            {"device-config": {"content": "a: ["}}, "device-config.content is no YAML: line 1", id="content"
        ),
        pytest.param(
            {"device-config": {"content": "[]"}}, "device-config.content holds a list", id="content a list"
        ),
        pytest.param(
            {"device": {"mthreads": {"enabled": True}}, "devices": {"mthreads": {"enabled": "false"}}},
            "devices.mthreads.enabled are two spellings of one value and say True and False",
            id="spellings disagree",
        ),
        pytest.param(
            {"scheduler": {"replicas": 2}, "scheduler.replicas": 3},
            "scheduler.replicas is written twice, nested and dotted, as 2 and 3",
            id="nested and dotted disagree",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(document: object, words: str) -> None:
    with pytest.raises(HamiValuesError) as caught:
        translated(document)
    assert words in caught.value.sentence


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("scheduler.replcas", "did you mean scheduler.replicas?"),
        ("scheduler.LegacyMetrics", "did you mean legacyMetrics?"),
        ("scheduler.x", "look whether it is spelled right."),
        ("metaxResourcename", "did you mean metaxResourceName?"),
        ("devices.mthreads.memorypercard", "did you mean devices.mthreads.memoryPerCard?"),
        ("frobnicate", "look whether it is spelled right."),
    ],
)
def test_a_value_nobody_knows_is_told_with_what_may_be_meant(key: str, hint: str) -> None:
    (note,) = translated(nested(key, 1)).notes
    assert (note.key, note.outcome) == (key, "unknown")
    assert note.sentence.endswith(hint)


@pytest.mark.parametrize("value", ["7200s", "1s"])
def test_a_number_that_our_scheduler_would_refuse_is_left_out_and_told(value: str) -> None:
    document = {"scheduler": {"nodeLockExpire": value}}
    assert said(document) == {}
    assert outcomes(document) == {"scheduler.nodeLockExpire": "not-supported"}


def test_more_replicas_than_the_chart_takes_are_left_out_and_told() -> None:
    (note,) = translated({"scheduler": {"replicas": 7}}).notes
    assert (note.outcome, said({"scheduler": {"replicas": 7}})) == ("not-supported", {})
    assert "it is a whole number from 1 to 5" in note.sentence


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scheduler.extender.image.pullPolicy", "Sometimes"),
        ("scheduler.admissionWebhook.failurePolicy", "fail"),
        ("scheduler.admissionWebhook.whitelistNamespaces", ["Istio"]),
        ("scheduler.kubeScheduler.image.tag", "v1.30.1+k3s1"),
        ("scheduler.kubeScheduler.image.registry", "/"),
        ("scheduler.kubeScheduler.image.repository", "a.io/kube-scheduler:v1.30.1"),
        ("scheduler.nodeSelector", {"gpu": True}),
        ("scheduler.tolerations", [{"key": "gpu", "effects": "NoSchedule"}]),
        ("scheduler.extender.resources", {"limits": {"cpu": "one"}}),
        ("scheduler.extender.resources", {"cpu": 1}),
        ("scheduler.kubeScheduler.resources", {"requests": [1], "limits": {"cpu": 1}}),
        ("global.imagePullSecrets", ["My_Registry"]),
        ("global.imagePullSecrets", [f"secret-{number}" for number in range(17)]),
        ("scheduler.defaultSchedulerPolicy.gpuSchedulerPolicy", "binpack,\tnuma"),
    ],
)
def test_what_our_chart_would_refuse_is_left_out_and_told(key: str, value: object) -> None:
    document = nested(key, value)
    assert said(document) == {}
    (note,) = translated(document).notes
    assert (note.key, note.outcome) == (key, "not-supported")
    assert note.sentence.endswith("; it was left out.")


def test_what_has_a_limit_alone_asks_for_as_much_as_in_kubernetes() -> None:
    limits = {"cpu": "100m", "memory": "64Mi"}
    document = {"scheduler": {"extender": {"resources": {"limits": limits, "requests": {"cpu": "50m"}}}}}
    assert said(document)["scheduler"]["resources"] == {
        "limits": limits,
        "requests": {"cpu": "50m", "memory": "64Mi"},
    }
    nothing: dict[str, Any] = {"scheduler": {"extender": {"resources": {"limits": None, "requests": {}}}}}
    assert said(nothing) == {"scheduler": {"resources": {}}}


def test_namespaces_named_twice_are_named_once() -> None:
    document = {"scheduler": {"admissionWebhook": {"whitelistNamespaces": ["a", "b", "a"]}}}
    assert said(document) == {"scheduler": {"webhook": {"ignoreNamespaces": ["a", "b"]}}}


def test_a_device_file_says_numbers_and_truths_as_our_chart_reads_them() -> None:
    content = {"mthreads": {"memoryPerCard": "96"}, "metax": {"sgpuTopologyAware": "True", "other": None}}
    assert said({"device-config": {"content": content}})["scheduler"]["deviceConfig"] == {
        "mthreads": {"memoryPerCard": [96]},
        "metax": {"sgpuTopologyAware": True},
    }


@pytest.mark.parametrize(
    "content", ["metax: {later: {a: 1}}", "metax: {resourceCountName: }", "nvidia: {a: 1}"]
)
def test_of_a_device_file_that_says_nothing_about_our_cards_nothing_is_written(content: str) -> None:
    assert said({"device-config": {"content": content}}) == {}


def test_the_clusters_own_scheduler_cannot_be_replaced() -> None:
    assert outcomes({"schedulerName": "default-scheduler"}) == {"schedulerName": "not-supported"}


def test_a_whole_device_file_goes_before_the_names() -> None:
    document = {
        "metaxResourceName": "a.io/s",
        "device-config": {"content": "mthreads: {memoryPerCard: [160]}"},
    }
    assert said(document) == {"scheduler": {"deviceConfig": {"mthreads": {"memoryPerCard": [160]}}}}
    assert outcomes(document)["metaxResourceName"] == "not-needed"


def test_a_map_without_an_end_is_refused() -> None:
    endless: dict[str, object] = {}
    endless["again"] = endless
    wide: object = 1
    for _ in range(15):
        wide = [wide, wide]
    for value in (endless, {"a": wide}, {"a": float("nan")}, {"a": 10**30}, {1: 2}):
        with pytest.raises(HamiValuesError, match="it is a map"):
            translated({"scheduler": {"extender": {"resources": value}}})


def test_values_without_an_end_are_never_compared() -> None:
    def endless() -> list[object]:
        made: list[object] = []
        made.append(made)
        return made

    def wide() -> object:
        value: object = 1
        for _ in range(40):
            value = [value, value]
        return value

    for make in (endless, wide):
        document = {
            "scheduler": {"extender": {"image": make()}},
            "scheduler.extender.image.repository": make(),
        }
        with pytest.raises(HamiValuesError, match="two spellings of one value"):
            translated(document)
        same = make()
        document = {"scheduler": {"extender": {"image": same}}, "scheduler.extender.image.repository": same}
        assert translated(document).complete


# ---- whatever is written

KEYS_WRITTEN = st.sampled_from(
    [spelling for row in (*ROWS, *OTHER_VENDORS) for spelling in row.spellings]
    + ["scheduler", "a", "devices", ""]
)
WORDS_WRITTEN = KEYS_WRITTEN | st.sampled_from(
    [
        "requests",
        "limits",
        "cpu",
        "key",
        "operator",
        "value",
        "effect",
        "tolerationSeconds",
        "name",
        "metax",
        "mthreads",
        "memoryPerCard",
        "sgpuTopologyAware",
        "resourceCountName",
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        [
            "true",
            "5m",
            "a.io/x",
            "spread",
            "binpack,numa",
            "Fail",
            "metax: {a: 1}",
            "--legacy-metrics",
            "Exists",
            "NoSchedule",
            "100m",
            "1e3",
            "v1.30",
            "a.io:5000",
            "Always",
            "True",
            "96",
        ]
    )
)
WRITTEN = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS_WRITTEN, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(KEYS_WRITTEN, WRITTEN, max_size=6) | WRITTEN)
def test_anything_is_translated_or_refused_and_what_comes_out_our_chart_and_scheduler_can_read(
    document: object,
) -> None:
    try:
        found = translated(document)
    except HamiValuesError:
        return
    assert refused_by_chart(document) == []
    scheduler: Any = found.values.get("scheduler", {})
    read_scheduler_config({KEY: VERSION, **scheduler.get("config", {})})
    if scheduler.get("deviceConfig"):
        read_hami_device_config(scheduler["deviceConfig"])
        assert all(scheduler["deviceConfig"].values())
    assert all(note.sentence for note in found.notes)
    assert found.complete == all(note.outcome in ("mapped", "not-needed") for note in found.notes)
