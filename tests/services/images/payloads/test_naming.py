"""Names of payload images."""

import pytest

from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.naming import image_name
from tangram.wire.operator.payloads import PayloadKind

DRIVER, MACA = PayloadKind.DRIVER, PayloadKind.MACA


@pytest.mark.parametrize(
    ("told", "kind", "version", "name"),
    [
        pytest.param("", DRIVER, "2.32.0", "tangram.dev/cloud/driver-image:2.32.0", id="by default"),
        pytest.param("", DRIVER, "2.32.0+1", "tangram.dev/cloud/driver-image:2.32.0-1", id="a plus"),
        pytest.param("mine:1", DRIVER, "2", "tangram.dev/cloud/mine:1", id="no registry"),
        pytest.param("localhost:5000/a/mine:1", DRIVER, "2", "localhost:5000/a/mine:1", id="a port"),
        pytest.param(
            "cr.metax-tech.com/library/maca-c500:2.23.0.4-ubuntu18.04-amd64",
            MACA,
            "2.23.0.4",
            "cr.metax-tech.com/library/maca-c500:2.23.0.4-ubuntu18.04-amd64",
            id="the older scheme",
        ),
        pytest.param(
            "mxc500-maca:2.23.0.4-ubuntu20.04-x86_64",
            MACA,
            "2.23.0.4",
            "tangram.dev/cloud/mxc500-maca:2.23.0.4-ubuntu20.04-x86_64",
            id="the newer scheme",
        ),
        pytest.param(
            "mxc500-maca:2.23.0.4", MACA, "2.23.0.4", "tangram.dev/cloud/mxc500-maca:2.23.0.4", id="short"
        ),
        pytest.param("sdk:latest", MACA, "2.23.0.4", "tangram.dev/cloud/sdk:latest", id="neither"),
    ],
)
def test_names_are_taken_as_they_are_or_completed(
    told: str, kind: PayloadKind, version: str, name: str
) -> None:
    assert image_name(told, kind, version, "amd64") == name


@pytest.mark.parametrize(
    ("told", "kind", "sentence"),
    [
        pytest.param(
            "", MACA, "maca-c500:2.23.0.4-ubuntu22.04-amd64 or mxc500-maca:", id="MXMACA without one"
        ),
        pytest.param("driver", DRIVER, "it is NAME:TAG", id="no tag"),
        pytest.param("Driver:1", DRIVER, "it is NAME:TAG", id="capitals"),
        pytest.param("a b:1", DRIVER, "it is NAME:TAG", id="a space"),
        pytest.param("a@sha256:00", DRIVER, "it is NAME:TAG", id="a digest"),
        pytest.param("example.com//a:1", DRIVER, "it is NAME:TAG", id="two slashes"),
        pytest.param("library/a:1", DRIVER, "registry.example.com/library/a:1", id="no registry"),
        pytest.param("maca-c500:2.23.0.4", DRIVER, "name of an MXMACA image", id="another kind"),
        pytest.param("maca-c500:2.23.0.4-u-arm64", MACA, "let both say the same", id="another machine"),
        pytest.param("maca-c500:2.23.0.40-u-amd64", MACA, "begins with its version", id="another version"),
    ],
)
def test_names_that_mislead_are_refused(told: str, kind: PayloadKind, sentence: str) -> None:
    with pytest.raises(ImagesError, match=r".") as raised:
        image_name(told, kind, "2.23.0.4", "amd64")
    assert sentence in str(raised.value)
