"""`payload.json`: what it describes is read back exactly, and nothing leaves the folder that it belongs to."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tangram.wire.errors import WireError
from tangram.wire.operator.payloads import (
    Payload,
    PayloadFile,
    PayloadKind,
    module_path,
    payload_text,
    read_payload,
)

KERNEL = "5.15.0-91-generic"
FILE = PayloadFile("0" * 64, 3, 0o755)
DRIVER = Payload(
    format=1,
    kind=PayloadKind.DRIVER,
    version="2.32.0",
    architecture="amd64",
    kernels=(KERNEL,),
    modules=("metax",),
    requires=("drm", "ttm"),
    files={module_path(KERNEL, "metax"): FILE, "mxdriver/bin/mx-smi": FILE},
    links={"mxdriver/lib/libmxsml.so": "libmxsml.so.2"},
)
MACA = Payload(
    format=1,
    kind=PayloadKind.MACA,
    version="2.23.0.4",
    architecture="arm64",
    files={"maca/lib/libmcruntime.so": FILE},
)


@pytest.mark.parametrize("payload", [DRIVER, MACA], ids=["driver", "maca"])
def test_what_is_written_is_read_back(payload: Payload) -> None:
    assert read_payload(payload_text(payload)) == payload


@pytest.mark.parametrize(
    ("path", "target"),
    [
        pytest.param("mxdriver/lib/a", "../../../etc/passwd", id="up and out"),
        pytest.param("mxdriver/a", "../firmware/x", id="into another folder of the payload"),
        pytest.param("mxdriver/a", "/opt/mxdriver/b", id="absolute"),
        pytest.param("mxdriver/a", "", id="to nothing"),
        pytest.param("mxdriver/bin/mx-smi", "x", id="where a file is"),
        pytest.param("mxdriver/lib/b", "../bin/../../../x", id="out on a detour"),
    ],
)
def test_links_lead_to_something_of_the_payload_or_are_refused(path: str, target: str) -> None:
    with pytest.raises(WireError, match="a link to something in the same payload"):
        payload_text(replace(DRIVER, links={path: target}))


@pytest.mark.parametrize(
    "links",
    [
        pytest.param({"mxdriver/here": ".", "mxdriver/out": "here/here/../.."}, id="out by a link to itself"),
        pytest.param({"mxdriver/a/up": "..", "mxdriver/out": "a/up/../x"}, id="out by a link that leads up"),
        pytest.param({"mxdriver/a": "b", "mxdriver/b": "a"}, id="in a circle"),
    ],
)
def test_links_that_lead_out_together_are_refused(links: dict[str, str]) -> None:
    with pytest.raises(WireError, match="a link to something in the same payload"):
        payload_text(replace(DRIVER, links=links))


@pytest.mark.parametrize(
    ("files", "links"),
    [
        pytest.param(["mxdriver/l/x"], {"mxdriver/l": "bin"}, id="a file below a link"),
        pytest.param(["mxdriver/bin/mx-smi/x"], {}, id="a file below a file"),
        pytest.param([], {"mxdriver/l": "bin", "mxdriver/l/a/b": "c"}, id="a link below a link"),
    ],
)
def test_nothing_lies_below_a_link_or_a_file(files: list[str], links: dict[str, str]) -> None:
    with pytest.raises(WireError, match="is a file or a link"):
        payload_text(replace(DRIVER, files={**DRIVER.files, **dict.fromkeys(files, FILE)}, links=links))


@pytest.mark.parametrize("target", ["../bin/mx-smi", "./libmxsml.so.2", "../lib/../bin/mx-smi"])
def test_links_within_a_folder_are_fine(target: str) -> None:
    assert read_payload(payload_text(replace(DRIVER, links={"mxdriver/lib/x": target})))


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "mxdriver/../x",
        "mxdriver",
        "mxdriver//x",
        "mxdriver/./x",
        "maca/x",
        "mxdriver/x/",
        "a\0b",
    ],
)
def test_files_lie_in_the_folders_of_their_kind(path: str) -> None:
    with pytest.raises(WireError, match="below modules/ or mxdriver/ or firmware/"):
        payload_text(replace(DRIVER, files={**DRIVER.files, path: FILE}))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        pytest.param({"kernels": ()}, "names no modules or no kernels", id="no kernel"),
        pytest.param({"modules": ()}, "names no modules or no kernels", id="no module"),
        pytest.param(
            {"kernels": (KERNEL, "6.1.0")}, "lists kernel 6.1.0 but no modules/6.1.0/metax.ko", id="half"
        ),
        pytest.param({"kernels": ("../x",)}, "a release as uname -r prints it", id="kernel"),
        pytest.param({"modules": ("metax;reboot",)}, "the name of a kernel module", id="module"),
        pytest.param({"version": "latest/../x"}, "version has 'latest/../x'", id="version"),
    ],
)
def test_a_driver_that_could_not_be_loaded_is_refused(changed: dict[str, object], sentence: str) -> None:
    with pytest.raises(WireError, match=sentence):
        payload_text(replace(DRIVER, **changed))


@given(st.text() | st.binary())
def test_a_file_of_anything_is_refused_with_a_sentence(text: str | bytes) -> None:
    with pytest.raises(WireError, match=r"payload\.json"):
        read_payload(text)


@given(st.lists(st.sampled_from(["..", ".", "a", "b", ""]), max_size=8))
def test_no_target_that_is_taken_leaves_its_folder(parts: list[str]) -> None:
    target = "/".join(parts)
    try:
        payload_text(replace(DRIVER, links={"mxdriver/x/y/link": target}))
    except WireError:
        return
    place = ["x", "y"]
    for part in parts:
        if part == "..":
            place.pop()
        elif part not in {"", "."}:
            place.append(part)


_NAMES = st.sampled_from(["mxdriver/a", "mxdriver/b", "mxdriver/c/d", "mxdriver/c/e/f"])
_TARGETS = st.lists(st.sampled_from(["..", ".", "a", "b", "c", "d", "e", "f"]), min_size=1, max_size=5).map(
    "/".join
)


@given(st.dictionaries(_NAMES, _TARGETS, max_size=4))
def test_no_links_that_are_taken_lead_out_together(links: dict[str, str]) -> None:
    try:
        payload_text(replace(DRIVER, links=links))
    except WireError:
        return
    with TemporaryDirectory() as folder:
        for path, target in links.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        for path in links:
            assert Path(folder, path).resolve().is_relative_to(Path(folder, "mxdriver").resolve())
