"""What of the host a container with MetaX cards sees: the version of the moment, unless the pod says otherwise."""

from pathlib import Path

import pytest

from tangram.model.refusals import Refusal
from tangram.services.gpu_device.folders import HostFolders

FOLDERS = ("/opt/maca", "/opt/mxdriver")
MACA = "tangram.dev/maca"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("maca-2.29.0.1", "maca-2.30.0.2/lib", "mxdriver-2.32.0"):
        (tmp_path / "opt" / name).mkdir(parents=True)
    (tmp_path / "opt/maca").symlink_to("maca-2.30.0.2")
    (tmp_path / "opt/mxdriver").symlink_to("mxdriver-2.32.0")
    return tmp_path


def seen(root: Path, annotations: dict[str, str] | None = None, *taken: str) -> dict[str, str]:
    found = HostFolders(FOLDERS, root).mounts("c0", annotations or {}, taken)
    assert not isinstance(found, Refusal), found
    return {each.path: each.host for each in found}


def test_a_container_sees_the_version_that_a_link_points_to_now(root: Path) -> None:
    assert seen(root) == {"/opt/maca": "/opt/maca-2.30.0.2", "/opt/mxdriver": "/opt/mxdriver-2.32.0"}


def test_a_folder_that_the_host_does_not_have_is_not_mounted(root: Path) -> None:
    (root / "opt/mxdriver").unlink()
    (root / "opt/maca").unlink()
    (root / "opt/maca").symlink_to("maca-gone")
    assert seen(root) == {}
    assert HostFolders((), root).mounts("c0", {MACA: "nonsense"}, ()) == ()


def test_a_folder_that_is_no_link_is_taken_as_it_is(root: Path) -> None:
    (root / "opt/maca").unlink()
    (root / "opt/maca").mkdir()
    assert seen(root)["/opt/maca"] == "/opt/maca"


def test_a_pod_may_keep_its_images_own_or_name_a_version(root: Path) -> None:
    assert seen(root, {MACA: "image"}) == {"/opt/mxdriver": "/opt/mxdriver-2.32.0"}
    assert seen(root, {MACA: "2.29.0.1"})["/opt/maca"] == "/opt/maca-2.29.0.1"


def test_a_version_that_the_node_lacks_is_refused_with_those_it_has(root: Path) -> None:
    found = HostFolders(FOLDERS, root).mounts("c0", {MACA: "2.31.0.4"}, ())
    assert isinstance(found, Refusal)
    assert (found.code, found.container) == ("maca-absent", "c0")
    assert "this node has 2.29.0.1 and 2.30.0.2" in found.sentence


@pytest.mark.parametrize("text", ["", "latest", "../../etc", "2.29/..", "Image"])
def test_what_is_no_version_is_refused(root: Path, text: str) -> None:
    found = HostFolders(FOLDERS, root).mounts("c0", {MACA: text}, ())
    assert isinstance(found, Refusal)
    assert found.code == "maca-unknown"


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ("/opt/maca", {"/opt/mxdriver"}),
        ("/opt/maca/", {"/opt/mxdriver"}),
        ("/opt", set[str]()),
        ("/opt/maca/lib", {"/opt/maca", "/opt/mxdriver"}),
        ("/opt/maca/models", {"/opt/mxdriver"}),
        ("/opt/maca-tools", {"/opt/maca", "/opt/mxdriver"}),
        ("/data", {"/opt/maca", "/opt/mxdriver"}),
    ],
)
def test_what_a_container_mounts_itself_goes_before(root: Path, taken: str, left: set[str]) -> None:
    assert set(seen(root, {}, taken)) == left
