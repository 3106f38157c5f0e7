"""The box itself: a pod runs in it, and there is no way out."""

from collections.abc import Callable

import pytest

from testbed.cluster import Cluster
from testbed.manifests import container, is_over, is_running, pod

pytestmark = pytest.mark.smoke


async def test_a_pod_is_scheduled_started_and_can_be_asked(
    cluster: Cluster, unique: Callable[[str], str]
) -> None:
    name = unique("hello")
    await cluster.api.create(pod(name))
    seen = await cluster.until_pod(name, is_running)
    assert seen["spec"]["nodeName"] == "n1"
    answer = await cluster.kubectl("exec", name, "--", "echo", "hello from inside")
    assert (answer.status, answer.output.strip()) == (0, "hello from inside")


@pytest.mark.parametrize("host_network", [False, True], ids=["own network", "the node's network"])
async def test_a_pod_reaches_no_outside_address_and_is_told_at_once(
    cluster: Cluster, unique: Callable[[str], str], host_network: bool
) -> None:
    attempts = "; ".join(
        f"before=$(date +%s); nc -w 20 {address} {port} </dev/null; echo {address} $? $(($(date +%s) - before))"
        for address, port in (
            ("1.1.1.1", 53),
            ("8.8.8.8", 443),
            ("10.0.0.9", 80),
            ("172.16.0.1", 80),
            ("192.168.0.1", 80),
        )
    )
    name = unique("outside")
    await cluster.api.create(pod(name, container(script=attempts), hostNetwork=host_network))
    await cluster.until_pod(name, is_over)
    lines = [line.split() for line in (await cluster.pod_log(name)).splitlines() if line[:1].isdigit()]
    assert len(lines) == 5
    for _, status, seconds in lines:
        assert status != "0"
        assert int(seconds) <= 5
