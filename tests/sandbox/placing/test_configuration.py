"""What the stand-in takes from a KubeSchedulerConfiguration, and what it refuses by name."""

from typing import Any

import pytest

from builders.placing import configuration
from tangram.sandbox.placing.configuration import BadConfiguration, read_settings
from tangram.wire.extender_config import MANAGED, ClientFiles, extender_entry, scheduler_configuration


def test_our_own_configuration_is_read_as_a_real_kube_scheduler_reads_it() -> None:
    entry = extender_entry("https://127.0.0.1:9443", files=ClientFiles("c", "k", "a"))
    read = read_settings(scheduler_configuration(entry, ["one", "two"], lease=("kube-system", "ours")))
    assert read.percentages == {"one": 100, "two": 100}
    (extender,) = read.extenders
    assert (extender.filter, extender.bind, extender.preempt, extender.prioritize) == (
        "filter",
        "bind",
        "preempt",
        "",
    )
    assert extender.cached
    assert extender.https
    assert extender.limit == 30
    assert extender.managed == frozenset(MANAGED)
    assert read.ignored < extender.managed
    assert read.lease is not None
    assert (read.lease.namespace, read.lease.name, read.lease.duration) == ("kube-system", "ours", 15)


def test_without_anything_it_is_the_default_scheduler_with_a_lease() -> None:
    read = read_settings({key: value for key, value in configuration().items() if key != "leaderElection"})
    assert read.percentages == {"default-scheduler": 0}
    assert read.lease is not None
    assert read.lease.name == "kube-scheduler"
    assert (read.first_backoff, read.longest_backoff) == (1, 10)


def test_extenders_that_may_be_passed_over_come_last() -> None:
    read = read_settings(
        configuration(
            extenders=[
                {"urlPrefix": "http://first", "filterVerb": "filter", "ignorable": True},
                {"urlPrefix": "http://second", "filterVerb": "filter"},
            ]
        )
    )
    assert [each.url for each in read.extenders] == ["http://second", "http://first"]


NOTHING: dict[str, Any] = {}
BINDER = {"urlPrefix": "http://one", "bindVerb": "bind"}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        pytest.param({"parallelism": 16}, "parallelism", id="a field it would pass over"),
        pytest.param(
            {"profiles": [{"schedulerName": "a", "plugins": NOTHING}]}, "plugins", id="plugins of a profile"
        ),
        pytest.param({"profiles": [{"pluginConfig": [NOTHING]}]}, "pluginConfig", id="arguments of plugins"),
        pytest.param({"profiles": [{"schedulerName": "a"}] * 2}, "schedulerName", id="one name twice"),
        pytest.param({"profiles": []}, "schedulerName", id="no profile"),
        pytest.param({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore", id="more than all nodes"),
        pytest.param({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds", id="no back-off"),
        pytest.param(
            {"extenders": [BINDER, {**BINDER, "urlPrefix": "http://two"}]}, "bindVerb", id="two binders"
        ),
        pytest.param({"extenders": [{"urlPrefix": "one:80"}]}, "urlPrefix", id="an address without a scheme"),
        pytest.param({"extenders": [{"filterVerb": "filter"}]}, "urlPrefix", id="no address"),
        pytest.param(
            {"extenders": [{"urlPrefix": "http://one", "prioritizeVerb": "p"}]},
            "weight",
            id="scores without weight",
        ),
        pytest.param(
            {"extenders": [{"urlPrefix": "http://one", "httpTimeout": "soon"}]},
            "httpTimeout",
            id="no duration",
        ),
        pytest.param(
            {"extenders": [{"urlPrefix": "https://one", "tlsConfig": {"caData": "x"}}]},
            "caData",
            id="keys in the file",
        ),
        pytest.param(
            {"extenders": [{**BINDER, "managedResources": [{"name": "a/b"}, {"name": "a/b"}]}]},
            "managedResources",
            id="a resource twice",
        ),
        pytest.param(
            {"leaderElection": {"resourceLock": "endpoints"}}, "resourceLock", id="another kind of lock"
        ),
        pytest.param({"kind": "Pod"}, "kind", id="another kind"),
        pytest.param(
            {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}, "apiVersion", id="an old version"
        ),
    ],
)
def test_what_it_cannot_follow_is_refused_by_its_name(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(BadConfiguration, match=named):
        read_settings(configuration(**fields))
