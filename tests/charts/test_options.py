"""The options of both charts: every one is in the schema, none else is, and the schema asks for what the code does."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
import yaml

from builders.charts.cases import CHARTS, EXTENSIONS, OPERATOR, OTHER_SPELLINGS, TANGRAM
from shipping.charts.options import CHARTS as FOLDER
from shipping.charts.options import MOST_ACCOUNTS, SCHEMA_FILE, chart_schemas, schema_text
from tangram.daemon.log_options import LEVELS, LogFormat, read_log_options
from tangram.model.cards import QosPolicy
from tangram.model.requests import CardOrder, NodePolicy
from tangram.wire.errors import WireError
from tangram.wire.scheduler_config import KEY, KEYS, VERSION, read_scheduler_config

INJECTED = {"global", "tangram-parts"}
TAG = "scheduler.kubeScheduler.imageTag"
OF_HAMI = {
    TANGRAM: {
        "device",
        *(f"device.{vendor}{below}" for vendor in ("metax", "mthreads") for below in ("", ".enabled")),
        TAG,
    },
    OPERATOR: {TAG},
}
"""Other spellings of options, which have no value if not given."""
SCHEMAS = chart_schemas()
CONFIG = SCHEMAS[TANGRAM]["properties"]["scheduler"]["properties"]["config"]["properties"]


def values_of(chart: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / chart / "values.yaml").read_text("utf-8"))


def options_in(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Every key that stands in the values; below a map that is empty, people write what they like."""
    for key, value in values.items():
        yield f"{above}{key}"
        if isinstance(value, dict) and not is_free(f"{above}{key}"):
            yield from options_in(cast("dict[str, Any]", value), f"{above}{key}.")


def allowed_by(schema: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, below in schema.get("properties", {}).items():
        yield f"{above}{key}"
        if not is_free(f"{above}{key}"):
            yield from allowed_by(below, f"{above}{key}.")


def is_free(path: str) -> bool:
    """Whether the values do not list what may stand below."""
    return path.rpartition(".")[2] in {"deviceConfig", "resources", "issuerRef", "labels", "config"} or (
        path.endswith(".log")
    )


@pytest.mark.parametrize("chart", CHARTS)
def test_the_schema_has_the_keys_of_the_values_and_no_others(chart: str) -> None:
    allowed = set(allowed_by(SCHEMAS[chart])) - INJECTED
    spellings = {
        each for each in allowed if f"{each}.".startswith(OTHER_SPELLINGS) or each in OTHER_SPELLINGS
    }
    assert allowed - spellings == set(options_in(values_of(chart)))
    assert spellings == OF_HAMI.get(chart, set())


@pytest.mark.parametrize("chart", CHARTS)
def test_the_chart_carries_the_schema_as_it_is_stated(chart: str) -> None:
    kept = (FOLDER / chart / SCHEMA_FILE).read_text("utf-8")
    assert kept == schema_text(SCHEMAS[chart]), "python -m shipping.charts.options writes it"


def test_what_both_charts_have_means_the_same_in_both() -> None:
    ours, theirs = (SCHEMAS[chart]["properties"] for chart in (TANGRAM, EXTENSIONS))
    assert theirs.keys() <= ours.keys()
    for key, schema in theirs.items():
        for option, below in schema.get("properties", {key: schema}).items():
            assert ours[key].get("properties", ours)[option] == below, f"{key}.{option}"


def test_both_charts_have_the_same_defaults_for_what_they_share() -> None:
    """But for where the manual looks: it is the manual of the vendor's chart."""
    ours, theirs = values_of(TANGRAM), values_of(EXTENSIONS)
    assert (ours["gpuAware"]["aliasNamespace"], theirs["gpuAware"].pop("aliasNamespace")) == ("", "metax-gpu")
    # The one label whose value the manual spells otherwise than the vendor's library.
    assert (ours["gpuLabel"].pop("productNames"), theirs["gpuLabel"].pop("productNames")) == (
        "library",
        "short",
    )
    for key, value in theirs.items():
        if isinstance(value, dict):
            usual = cast("dict[str, Any]", value)
            assert {option: ours[key][option] for option in usual} == usual, key
        else:
            assert ours[key] == value


def objects_in(schema: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - any part of a schema
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for below in cast("dict[str, Any]", schema).values():
            yield from objects_in(below)


@pytest.mark.parametrize("chart", CHARTS)
def test_a_misspelled_key_is_answered_with_the_legal_ones(chart: str) -> None:
    closed = [each for each in objects_in(SCHEMAS[chart]) if "additionalProperties" in each]
    assert len(closed) > 8
    of_lists = [each["else"]["const"] for each in conditions_in(SCHEMAS[chart]) if "items" in each["if"]]
    for schema in closed:
        answer = schema["additionalProperties"]
        if answer is False:
            # Something of a list, whose keys are named by the sentence of the list.
            assert any(all(key in each for key in schema["properties"]) for each in of_lists)
            continue
        assert answer["const"].startswith("left out: there is no such option; here are ")
        assert all(key in answer["const"] for key in schema["properties"].keys() - INJECTED)


def test_the_sentences_need_no_escaping_where_helm_quotes_them() -> None:
    sentences = [each["else"]["const"] for each in conditions_in(SCHEMAS)]
    assert [each for each in sentences if "\\" in each or "'" in each] == []


def conditions_in(schema: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - any part of a schema
    if isinstance(schema, dict):
        if "else" in schema:
            yield schema
        for below in cast("dict[str, Any]", schema).values():
            yield from conditions_in(below)


def test_log_words_are_those_that_the_program_reads() -> None:
    log = SCHEMAS[TANGRAM]["properties"]["log"]["properties"]
    assert set(log["level"]["enum"]) == {*LEVELS, "warn"}
    for level in log["level"]["enum"]:
        read_log_options(level=level)
    assert set(log["format"]["enum"]) == set(LogFormat)


def test_the_schedulers_own_file_may_say_what_the_scheduler_reads() -> None:
    # Whose cards count follows from `devices`, from which kube-scheduler's file follows too.
    assert set(CONFIG) == {KEY, *KEYS} - {"vendors"}
    assert set(CONFIG["qosPolicy"]["enum"]) == set(QosPolicy)
    assert CONFIG[KEY]["enum"] == [VERSION]
    assert set(CONFIG["nodePolicy"]["enum"]) == {NodePolicy.BINPACK, NodePolicy.SPREAD, NodePolicy.FRAG}
    assert all(order in CONFIG["cardPolicy"]["if"]["pattern"] for order in CardOrder)


@pytest.mark.parametrize("key", [each for each in KEYS if each.endswith("Seconds")])
def test_the_limits_of_a_number_are_those_of_the_scheduler(key: str) -> None:
    least, most = (CONFIG[key]["if"][word] for word in ("minimum", "maximum"))
    for legal in (least, most):
        read_scheduler_config({KEY: VERSION, key: legal})
    for wrong in (least - 1, most + 1):
        with pytest.raises(WireError):
            read_scheduler_config({KEY: VERSION, key: wrong})


def test_as_many_accounts_are_allowed_as_the_scheduler_reads() -> None:
    accounts = [f"system:serviceaccount:kube-system:plugin-{number}" for number in range(MOST_ACCOUNTS + 1)]
    read_scheduler_config({KEY: VERSION, "trustedAccounts": accounts[:-1]})
    with pytest.raises(WireError):
        read_scheduler_config({KEY: VERSION, "trustedAccounts": accounts})
