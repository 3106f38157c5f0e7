"""Counting a pod's cards as kube-scheduler does."""

import pytest

from builders.gpu_aware import GPU, Object, asking_pod
from tangram.services.gpu_aware.asking import cards_asked
from tangram.wire.errors import WireError


def container(count: int | str | None = None, **more: object) -> Object:
    limits = {} if count is None else {"resources": {"limits": {GPU: count}}}
    return {"name": "c", **limits, **more}


def pod(apps: list[Object], inits: list[Object] | None = None) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": apps, "initContainers": inits or []}}


STAYS = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("manifest", "count"),
    [
        pytest.param(asking_pod(), 0, id="no card"),
        pytest.param(asking_pod(4), 4, id="one container"),
        pytest.param(asking_pod("0"), 0, id="zero is none"),
        pytest.param(pod([container(2), container(), container(1)]), 3, id="containers add up"),
        pytest.param(pod([container(2)], [container(4)]), 4, id="a larger init container decides"),
        pytest.param(pod([container(2)], [container(1)]), 2, id="a smaller one does not"),
        pytest.param(pod([container(2)], [container(1, **STAYS)]), 3, id="a sidecar stays"),
        pytest.param(
            pod([container(1)], [container(2, **STAYS), container(3)]), 5, id="init beside a sidecar"
        ),
        pytest.param(pod([container("2k")]), 2000, id="a suffix"),
        pytest.param(pod([{"name": "c", "resources": {"requests": {GPU: 2}}}]), 2, id="requests alone"),
        pytest.param(pod([container(1, securityContext={"privileged": True})]), 1, id="privileged"),
        pytest.param(
            pod([{"name": "c", "resources": {"limits": {"mthreads.com/gpu": 1}}}]), 0, id="other vendor"
        ),
        pytest.param(
            pod([{"name": "c", "resources": {"limits": {"metax-tech.com/sgpu": 1}}}]), 0, id="slices"
        ),
        pytest.param({}, 0, id="nothing at all"),
    ],
)
def test_cards_at_the_busiest_moment_are_counted(manifest: Object, count: int) -> None:
    assert cards_asked(manifest) == count


@pytest.mark.parametrize("written", ["-1", "1.5", "500m", "many", "", "9999999999"])
def test_an_amount_that_cannot_be_read_is_an_error_and_never_none(written: str) -> None:
    with pytest.raises(WireError, match="whole cards are counted in whole numbers; write for example 1"):
        cards_asked(asking_pod(written))


@pytest.mark.parametrize(
    "spec", [{"containers": "x"}, {"containers": [5]}, {"containers": [{"name": "c", "resources": "x"}]}]
)
def test_a_pod_that_cannot_be_read_is_an_error_and_never_one_without_cards(spec: Object) -> None:
    with pytest.raises(WireError):
        cards_asked({"spec": spec})
