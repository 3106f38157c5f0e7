"""The scheduler's own configuration file: what each key does, and a sentence for everything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.model.cards import QosPolicy, Vendor
from tangram.model.requests import CardOrder, NodePolicy
from tangram.wire.errors import WireError
from tangram.wire.scheduler_config import KEYS, SchedulerConfig, read_scheduler_config


def read(**keys: object) -> SchedulerConfig:
    return read_scheduler_config({"tangram": "scheduler/v1", **keys})


def refusal(document: object) -> str:
    with pytest.raises(WireError) as refused:
        read_scheduler_config(document)
    return refused.value.sentence


def test_a_file_that_says_nothing_is_hamis_defaults() -> None:
    config = read()
    assert config == SchedulerConfig()
    assert config.node_policy is NodePolicy.BINPACK
    assert config.card_order == (CardOrder.SPREAD,)
    assert config.scheduler_names == ("tangram-scheduler", "hami-scheduler")
    assert config.overwrite_default_scheduler


def test_every_key_has_its_effect() -> None:
    assert read(
        nodePolicy="frag",
        cardPolicy="binpack, numa",
        zoneAware=True,
        qosPolicy="fixed-share",
        vendors=["mthreads"],
        schedulerNames=["cards"],
        forceOverwriteDefaultScheduler=False,
        reservationSeconds=30,
        gangSeconds="120",
        demoteSeconds=0,
        nodeLockSeconds=300.0,
        trustedAccounts=["system:serviceaccount:kube-system:hami-scheduler"],
        quota=False,
    ) == SchedulerConfig(
        node_policy=NodePolicy.FRAG,
        card_order=(CardOrder.BINPACK, CardOrder.NUMA),
        zone_aware=True,
        qos_policy=QosPolicy.FIXED_SHARE,
        vendors=(Vendor.MTHREADS,),
        scheduler_names=("cards",),
        overwrite_default_scheduler=False,
        reservation_seconds=30,
        gang_seconds=120,
        demote_seconds=0,
        node_lock_seconds=300,
        trusted_accounts=("system:serviceaccount:kube-system:hami-scheduler",),
        quota=False,
    )


def test_a_key_without_a_value_is_not_said() -> None:
    assert read(nodePolicy=None, quota=None) == SchedulerConfig()


def test_the_card_policy_may_be_a_list() -> None:
    assert read(cardPolicy=["mutex", "spread"]).card_order == (CardOrder.MUTEX, CardOrder.SPREAD)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        pytest.param(
            None, "the file is None: it is a map; write for example tangram: scheduler/v1", id="empty"
        ),
        pytest.param(
            [], "the file is a list: it is a map; write for example tangram: scheduler/v1", id="list"
        ),
        pytest.param(
            {}, "tangram is None: only scheduler/v1 is known; write tangram: scheduler/v1", id="no-version"
        ),
        pytest.param(
            {"tangram": "scheduler/v2"},
            "tangram is 'scheduler/v2': only scheduler/v1 is known; write tangram: scheduler/v1",
            id="another-version",
        ),
    ],
)
def test_another_document_is_refused(document: object, says: str) -> None:
    assert refusal(document) == says


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        pytest.param(
            "nodepolicy", "spread", "'nodepolicy' is no key of this file: those are nodePolicy,", id="key"
        ),
        pytest.param(
            "nodePolicy",
            "bestfit",
            "nodePolicy is 'bestfit': it is one of binpack, spread, frag; write one of these",
            id="a-policy-that-is-only-a-yardstick",
        ),
        pytest.param("nodePolicy", ["spread"], "nodePolicy is a list: it is one of", id="a-list-of-policies"),
        pytest.param(
            "cardPolicy",
            "binpack,binpack",
            "cardPolicy is 'binpack,binpack': it is one or several of binpack, spread, numa, topology-aware, mutex, "
            "each once, separated by commas; write for example binpack,numa",
            id="a-word-twice",
        ),
        pytest.param("cardPolicy", "", "cardPolicy is '': it is one or several of", id="no-word"),
        pytest.param("cardPolicy", [], "cardPolicy is a list: it is one or several of", id="no-words"),
        pytest.param(
            "cardPolicy", "best", "cardPolicy is 'best': it is one or several of", id="an-unknown-word"
        ),
        pytest.param(
            "qosPolicy",
            "fixed",
            "qosPolicy is 'fixed': it is one of best-effort, fixed-share, burst-share; write one of these",
            id="no-policy-of-slices",
        ),
        *(
            pytest.param(
                "vendors",
                value,
                "it is a list of metax or mthreads, or of both, each once; write for example [metax]",
                id=name,
            )
            for name, value in (
                ("no-vendor", []),
                ("a-vendor-without-a-list", "metax"),
                ("a-vendor-twice", ["metax", "metax"]),
                ("another-vendor", ["metax", "nvidia"]),
                ("the-cards-of-traces", ["generic"]),
            )
        ),
        pytest.param(
            "zoneAware", "yes", "zoneAware is 'yes': it is true or false; write one of these", id="flag"
        ),
        pytest.param(
            "reservationSeconds",
            4,
            "reservationSeconds is 4: it is a whole number of seconds from 5 to 3600; write for example 60",
            id="too-short",
        ),
        pytest.param(
            "gangSeconds", "10m", "gangSeconds is '10m': it is a whole number of seconds", id="a-suffix"
        ),
        pytest.param("demoteSeconds", True, "demoteSeconds is True: it is a whole number", id="no-number"),
        pytest.param("nodeLockSeconds", 10**40, "nodeLockSeconds is 1000", id="far-too-large"),
        pytest.param(
            "schedulerNames", [], "schedulerNames is a list: it lists at least one name", id="no-names"
        ),
        pytest.param(
            "schedulerNames",
            ["tangram-scheduler", "default-scheduler"],
            "default-scheduler belongs to the cluster's own scheduler; write for example [tangram-scheduler]",
            id="the-clusters-own",
        ),
        pytest.param(
            "schedulerNames",
            ["a", "a"],
            "schedulerNames[1] is 'a': it is a list of up to 16 scheduler names in lower case, each once; write for "
            "example [tangram-scheduler]",
            id="a-name-twice",
        ),
        pytest.param("schedulerNames", "a", "schedulerNames is 'a': it is a list of up to 16", id="no-list"),
        pytest.param(
            "schedulerNames", [str(each) for each in range(17)], "is a list: it is a list of up", id="many"
        ),
        pytest.param(
            "trustedAccounts",
            ["hami-scheduler"],
            "trustedAccounts[0] is 'hami-scheduler': it is a list of up to 16 accounts spelled "
            "system:serviceaccount:NAMESPACE:NAME, each once; write for example "
            "[system:serviceaccount:kube-system:hami-scheduler]",
            id="no-account",
        ),
        pytest.param(
            "quota", 1, "quota is 1: it is true or false; write one of these", id="a-number-for-a-flag"
        ),
    ],
)
def test_what_has_no_meaning_is_refused_with_what_to_write(key: str, value: object, says: str) -> None:
    assert says in refusal({"tangram": "scheduler/v1", key: value})


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*KEYS, "other"]) | st.text(), ANYTHING))
def test_any_document_is_a_configuration_or_one_readable_sentence(keys: dict[str, object]) -> None:
    sentence, config = "", SchedulerConfig()
    try:
        config = read_scheduler_config({**keys, "tangram": "scheduler/v1"})
    except WireError as error:
        sentence = error.sentence
    assert "\n" not in sentence
    assert config.scheduler_names
    assert config.card_order
