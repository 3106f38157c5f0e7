"""Files of a layer in memory: where they go, whose they are, and what is refused."""

from pathlib import Path

import pytest

from shipping.image.errors import ImageError
from shipping.image.tree import Entry, File, Folder, Link, clean_name, joined, resolved, unpack, with_folders


@pytest.mark.parametrize(
    ("text", "key"),
    [
        pytest.param("./usr/bin/python3", "usr/bin/python3", id="as tar writes it"),
        pytest.param("./lib/x86_64-linux-gnu/libc.so.6", "usr/lib/x86_64-linux-gnu/libc.so.6", id="merged"),
        pytest.param("lib64/ld.so", "usr/lib64/ld.so", id="merged, another folder"),
        pytest.param("/bin/sh", "usr/bin/sh", id="absolute"),
        pytest.param("library/x", "library/x", id="only a beginning of such a name"),
    ],
)
def test_paths_of_packages_become_keys_below_usr(text: str, key: str) -> None:
    assert clean_name(text, "x.deb") == key


def test_a_path_that_leads_out_of_the_image_is_refused() -> None:
    with pytest.raises(ImageError, match=r"x\.deb holds the path './\.\./etc/passwd', which leads out"):
        clean_name("./../etc/passwd", "x.deb")


def test_two_packages_may_bring_the_same_file_but_not_different_ones() -> None:
    same: dict[str, Entry] = {"etc/x": File(b"1")}
    assert joined([("a", same), ("b", same)]) == same
    with pytest.raises(ImageError, match="b and a both bring /etc/x"):
        joined([("a", same), ("b", {"etc/x": File(b"2")})])


def test_a_layer_names_only_folders_that_are_not_there_yet() -> None:
    tree = with_folders({"usr/local/bin/tangram": File(b"")}, {"usr", "usr/local"})
    assert set(tree) == {"usr/local/bin", "usr/local/bin/tangram"}


def test_a_folder_with_a_mode_of_its_own_keeps_it() -> None:
    assert with_folders({"tmp": Folder(0o1777), "tmp/x": File(b"")}, ())["tmp"] == Folder(0o1777)


@pytest.mark.parametrize(
    ("name", "leads_to"),
    [
        pytest.param("lib/x/a.so", "usr/lib/x/a.so.1", id="a folder and a file that are links"),
        pytest.param("usr/lib/ssl/cert.pem", "etc/bundle", id="absolute"),
        pytest.param("usr/up", "etc/bundle", id="upwards"),
        pytest.param("nothing/here", "nothing/here", id="no links"),
    ],
)
def test_links_are_followed_inside_the_image(name: str, leads_to: str) -> None:
    tree = {
        "lib": Link("usr/lib"),
        "usr/lib/x/a.so": Link("a.so.1"),
        "usr/lib/ssl/cert.pem": Link("/etc/bundle"),
        "usr/up": Link("../etc/bundle"),
    }
    assert resolved(name, tree) == leads_to


def test_a_circle_of_links_is_said() -> None:
    with pytest.raises(ImageError, match="circle"):
        resolved("a", {"a": Link("b"), "b": Link("a")})


def test_a_tree_can_be_unpacked(tmp_path: Path) -> None:
    unpack({"a/b": File(b"x", executable=True), "a/c": Link("b"), "d": Folder()}, tmp_path)
    assert (tmp_path / "a/c").read_bytes() == b"x"
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "d").is_dir()
