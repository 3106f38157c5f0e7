"""The configuration that makes kube-scheduler ask gpu-aware."""

import pytest
import yaml

from tangram.wire.errors import WireError
from tangram.wire.kubescheduler_config import (
    checked_url,
    configuration,
    configuration_text,
    is_best,
    is_just_ours,
    is_read,
    url_of_ours,
)

URL = "http://10.96.0.20:8080"
KUBECONFIG = "/etc/kubernetes/scheduler.conf"
NOW = (1, 36)


def test_the_text_has_the_keys_and_values_of_the_manual_in_their_order() -> None:
    assert configuration_text(URL, KUBECONFIG, NOW) == (
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "clientConnection:\n"
        "  kubeconfig: /etc/kubernetes/scheduler.conf\n"
        "extenders:\n"
        "  - urlPrefix: http://10.96.0.20:8080\n"
        "    enableHTTPS: false\n"
        "    filterVerb: filter\n"
        "    prioritizeVerb: prioritize\n"
        "    nodeCacheCapable: false\n"
        "    ignorable: false\n"
        "    weight: 500\n"
    )


@pytest.mark.parametrize("url", [URL, "https://gpu-aware.example:8443/topology", "http://[fd00::1]:8080"])
@pytest.mark.parametrize("kubeconfig", [KUBECONFIG, "/odd path/with: colon", "/ünusual #1"])
def test_the_text_is_the_object(url: str, kubeconfig: str) -> None:
    assert yaml.safe_load(configuration_text(url, kubeconfig, NOW)) == configuration(url, kubeconfig, NOW)


def test_an_address_with_https_switches_https_on() -> None:
    assert configuration("https://x:1", "", NOW)["extenders"][0]["enableHTTPS"] is True


@pytest.mark.parametrize(
    "text",
    ["", "10.96.0.20:8080", "ftp://x", "http://", "http://a b", "http://x:8080\nweight: 1", "http://x/?a=b"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="write for example http://"):
        checked_url(text)


@pytest.mark.parametrize(
    ("scheduler", "version"),
    [
        pytest.param((1, 22), "v1beta2", id="1.22"),
        pytest.param((1, 23), "v1beta3", id="1.23"),
        pytest.param((1, 24), "v1beta3", id="1.24"),
        pytest.param((1, 25), "v1", id="1.25"),
        pytest.param((1, 37), "v1", id="1.37"),
    ],
)
def test_the_api_version_is_the_newest_that_the_kube_scheduler_reads(
    scheduler: tuple[int, int], version: str
) -> None:
    text = configuration_text(URL, KUBECONFIG, scheduler)
    assert text.startswith(f"apiVersion: kubescheduler.config.k8s.io/{version}\n")
    assert is_best(yaml.safe_load(text), scheduler)


def test_ours_is_known_again_also_when_written_by_the_manual() -> None:
    ours = configuration(URL, KUBECONFIG, NOW)
    manual = ours | {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}
    assert (url_of_ours(ours), is_just_ours(ours, URL), is_best(ours, NOW)) == (URL, True, True)
    assert (url_of_ours(manual), is_just_ours(manual, URL), is_best(manual, NOW)) == (URL, True, False)
    assert not is_just_ours(ours | {"apiVersion": "example.com/v1"}, URL)


@pytest.mark.parametrize(
    ("version", "read_by", "not_by"),
    [
        pytest.param("v1beta2", (1, 27), (1, 28), id="the last with v1beta2"),
        pytest.param("v1beta3", (1, 28), (1, 29), id="the last with v1beta3"),
        pytest.param("v1beta3", (1, 23), (1, 22), id="the first with v1beta3"),
        pytest.param("v1", (1, 25), (1, 24), id="the first with v1"),
    ],
)
def test_whether_a_kube_scheduler_reads_a_file_follows_from_both_versions(
    version: str, read_by: tuple[int, int], not_by: tuple[int, int]
) -> None:
    found = {"apiVersion": f"kubescheduler.config.k8s.io/{version}"}
    assert is_read(found, read_by)
    assert not is_read(found, not_by)


@pytest.mark.parametrize(
    "found",
    [
        None,
        [],
        {"kind": "ConfigMap"},
        {"kind": "KubeSchedulerConfiguration"},
        {"kind": "KubeSchedulerConfiguration", "extenders": [{"filterVerb": "filter", "bindVerb": "bind"}]},
    ],
)
def test_a_configuration_without_gpu_aware_is_not_ours(found: object) -> None:
    assert url_of_ours(found) is None


def test_what_says_more_than_we_would_is_not_just_ours() -> None:
    ours = configuration(URL, KUBECONFIG, NOW)
    assert not is_just_ours(ours | {"profiles": [{"schedulerName": "x"}]}, URL)
    assert not is_just_ours(ours | {"extenders": [ours["extenders"][0] | {"weight": 1000}]}, URL)
