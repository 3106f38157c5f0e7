"""kube-scheduler's version, as the image of a manifest or a person says it."""

import pytest

from tangram.services.installation.matrix import NEWEST_TRIED, OLDEST_KUBERNETES, SCHEDULER_CONFIG_V1
from tangram.wire.errors import WireError
from tangram.wire.kube_scheduler_version import (
    Minor,
    api_version_for,
    api_versions_read,
    read_version,
    version_of_image,
)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("registry.k8s.io/kube-scheduler:v1.30.4", (1, 30)),
        ("k8s.gcr.io/kube-scheduler-amd64:v1.23.17", (1, 23)),
        ("kube-scheduler:1.24.0", (1, 24)),
        ("registry.example:5000/google_containers/kube-scheduler:v1.36.0", (1, 36)),
        ("example.com/kube-scheduler:v1.31", (1, 31)),
        ("rancher/hardened-kubernetes:v1.28.5-rke2r1-build20231220", (1, 28)),
        ("rancher/hyperkube:v1.23.6-rancher1", (1, 23)),
        ("example.com/kube-scheduler:v1.37.0-alpha.1_abc", (1, 37)),
        ("registry.k8s.io/kube-scheduler:v1.30.4@sha256:00", (1, 30)),
    ],
)
def test_the_tag_of_an_image_of_kubernetes_is_its_version(image: str, version: Minor) -> None:
    assert version_of_image(image) == version


@pytest.mark.parametrize(
    "image",
    [
        pytest.param("", id="no image"),
        pytest.param("registry.k8s.io/kube-scheduler", id="no tag"),
        pytest.param("registry.example:5000/kube-scheduler", id="a port is no tag"),
        pytest.param("registry.k8s.io/kube-scheduler@sha256:00", id="a digest alone"),
        pytest.param("registry.k8s.io/kube-scheduler:latest", id="latest"),
        pytest.param("registry.k8s.io/kube-scheduler:v1", id="major alone"),
        pytest.param("registry.k8s.io/kube-scheduler:v1.30x", id="letters after the minor"),
        pytest.param("registry.k8s.io/scheduler-plugins/kube-scheduler:v0.30.6", id="another's count"),
        pytest.param("registry.k8s.io/kube-scheduler:v2.0.0", id="no Kubernetes of ours"),
        pytest.param("example.com/placer:v1.30.0", id="another program"),
        pytest.param("registry.k8s.io/kube-scheduler:", id="an empty tag"),
    ],
)
def test_what_does_not_say_the_version_is_refused_and_never_guessed(image: str) -> None:
    with pytest.raises(WireError) as refused:
        version_of_image(image)
    assert refused.value.code == "scheduler-version-unknown"
    assert "--scheduler-version" in refused.value.sentence


@pytest.mark.parametrize("text", ["1.30", "v1.30", "1.30.4", "v1.30.4", "v1.30.4+k3s1", "v1.30.4-eks-abc"])
def test_a_person_may_write_the_version_as_kubectl_shows_it(text: str) -> None:
    assert read_version(text) == (1, 30)


@pytest.mark.parametrize("text", ["", "1", "v1beta3", "latest", "2.0", "1.30 ", "1.x", "-1.30", "1.3000"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(WireError) as refused:
        read_version(text)
    assert refused.value.code == "scheduler-version"


def test_a_kube_scheduler_that_is_too_old_is_refused() -> None:
    with pytest.raises(WireError) as refused:
        api_version_for((1, 21))
    assert refused.value.code == "scheduler-too-old"


def test_every_supported_kubernetes_reads_something_and_the_matrix_agrees() -> None:
    for minor in range(OLDEST_KUBERNETES[1], NEWEST_TRIED[1] + 2):
        assert (api_version_for((1, minor)) == "v1") is ((1, minor) >= SCHEDULER_CONFIG_V1)
    assert api_versions_read((1, 23)) == ("v1beta3", "v1beta2")
    assert api_versions_read() == ("v1", "v1beta3", "v1beta2")
