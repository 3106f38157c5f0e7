"""Packages of charts: what is in them, that they are the same each time, and what is not packed."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipping.charts.__main__ import main
from shipping.charts.contents import files_of
from shipping.charts.errors import ChartError
from shipping.charts.packing import FOLDER, pack, package
from shipping.image.project import ROOT

MOMENT = 1700000000
NAMES = st.lists(st.text("abc.-é", min_size=1, max_size=90), min_size=1, max_size=3).map("/".join)
"""Also longer than the hundred bytes that the oldest form of the archive has room for."""


@pytest.fixture(autouse=True)
def moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(MOMENT))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project of version 1.2.3 with a chart, and a library that the chart has a link to."""
    root = tmp_path / "project"
    write(root, "pyproject.toml", '[project]\nname = "tangram-gpu"\nversion = "1.2.3"\n')
    described(root, "parts", "type: library\nversion: 1.2.3\n")
    write(root, f"{FOLDER}/parts/templates/_shared.tpl", '{{ define "parts.x" }}x{{ end }}\n')
    described(
        root, "big", "version: 1.2.3\nappVersion: 1.2.3\ndependencies: [{name: parts, version: 1.2.3}]\n"
    )
    write(root, f"{FOLDER}/big/values.yaml", "a: 1\n")
    write(root, f"{FOLDER}/big/templates/a.yaml", "kind: A\n")
    (root / FOLDER / "big" / "charts").mkdir()
    (root / FOLDER / "big" / "charts" / "parts").symlink_to("../../parts")
    return root


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def described(root: Path, chart: str, text: str) -> None:
    write(root, f"{FOLDER}/{chart}/Chart.yaml", f"apiVersion: v2\nname: {chart}\n{text}")


def entries(content: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        return archive.getmembers()


def test_a_chart_is_packed_with_what_its_link_leads_to_and_a_library_is_not_packed_alone(root: Path) -> None:
    made = pack(root / "dist", root)

    assert [path.name for path in made] == ["big-1.2.3.tgz"]
    assert [entry.name for entry in entries(made[0].read_bytes())] == [
        "big/Chart.yaml",
        "big/charts/parts/Chart.yaml",
        "big/charts/parts/templates/_shared.tpl",
        "big/templates/a.yaml",
        "big/values.yaml",
    ]
    assert sorted(path.name for path in (root / "dist").iterdir()) == ["big-1.2.3.tgz"]


def test_nothing_of_the_machine_is_in_a_package(root: Path) -> None:
    (made,) = pack(root / "dist", root)
    content = made.read_bytes()

    assert all(entry.isfile() and entry.mode == 0o644 and entry.mtime == MOMENT for entry in entries(content))
    assert {(entry.uid, entry.gid, entry.uname, entry.gname) for entry in entries(content)} == {
        (0, 0, "", "")
    }
    assert content[3] == 0, "neither a name nor a comment in the head of the compressed file"
    assert content[4:8] == bytes(4), "no time there"


def test_a_package_is_the_same_whatever_times_modes_and_order_the_files_have(root: Path) -> None:
    (first,) = pack(root / "one", root)
    values = root / FOLDER / "big" / "values.yaml"
    os.utime(values, (1, 1))
    values.chmod(0o600)
    late = root / FOLDER / "big" / "templates" / "a.yaml"
    text = late.read_text()
    late.unlink()
    late.write_text(text)
    (second,) = pack(root / "two", root)

    assert first.read_bytes() == second.read_bytes()


@given(st.dictionaries(NAMES, st.binary(max_size=40), max_size=5))
def test_a_package_gives_back_the_files_it_was_made_of(files: dict[str, bytes]) -> None:
    packed = package("big", files, MOMENT)
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        found: dict[str, bytes] = {}
        for entry in archive.getmembers():
            content = archive.extractfile(entry)
            assert content is not None
            found[entry.name] = content.read()

    assert found == {f"big/{name}": content for name, content in files.items()}


def test_what_editors_leave_behind_is_not_packed(root: Path) -> None:
    for name in ("templates/.a.yaml.swp", "values.yaml~", ".DS_Store"):
        write(root, f"{FOLDER}/big/{name}", "junk")

    assert [name for name in files_of(root / FOLDER / "big") if "junk" in name or "." in name[:1]] == []
    assert len(files_of(root / FOLDER / "big")) == 5


@pytest.mark.parametrize(
    ("chart", "text", "told"),
    [
        pytest.param("big", "version: 1.2.2\nappVersion: 1.2.3\n", "version is 1.2.2", id="version"),
        pytest.param("big", "version: 1.2.3\nappVersion: 1.2.4\n", "appVersion is 1.2.4", id="appVersion"),
        pytest.param("big", "version: 1.2.3\n", "appVersion is nothing", id="no appVersion"),
        pytest.param(
            "big",
            "version: 1.2.3\nappVersion: 1.2.3\ndependencies: [{name: parts, version: 1.2.0}]\n",
            "version of the dependency parts is 1.2.0",
            id="dependency",
        ),
        pytest.param("parts", "type: library\nversion: 1.3.0\n", "version is 1.3.0", id="library"),
    ],
)
def test_a_chart_of_another_version_is_refused_and_nothing_is_written(
    root: Path, chart: str, text: str, told: str
) -> None:
    described(root, chart, text)

    with pytest.raises(ChartError) as refusal:
        pack(root / "dist", root)
    assert told in str(refusal.value)
    assert f"{FOLDER}/{chart}/Chart.yaml" in str(refusal.value)
    assert str(refusal.value).endswith("All of them must be 1.2.3.")
    assert not (root / "dist").exists()


def test_a_chart_that_is_not_called_like_its_folder_is_refused(root: Path) -> None:
    write(root, f"{FOLDER}/big/Chart.yaml", "name: small\nversion: 1.2.3\nappVersion: 1.2.3\n")
    with pytest.raises(
        ChartError, match=r"names the chart 'small': helm wants the name of its folder, big\.$"
    ):
        pack(root / "dist", root)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("version: 1.0\nname: big\n", id="a version that YAML reads as a number"),
        pytest.param("name: [\n", id="no YAML"),
        pytest.param("- name\n", id="a list"),
        pytest.param("", id="empty"),
    ],
)
def test_a_description_that_cannot_be_read_is_refused(root: Path, text: str) -> None:
    write(root, f"{FOLDER}/big/Chart.yaml", text)
    with pytest.raises(ChartError, match=r"big/Chart\.yaml cannot be read as a chart's description"):
        pack(root / "dist", root)


def test_a_folder_without_a_description_and_a_project_without_charts_are_refused(root: Path) -> None:
    (root / FOLDER / "stray").mkdir()
    with pytest.raises(ChartError, match=r"stray/Chart\.yaml is missing"):
        pack(root / "dist", root)
    (root / FOLDER).rename(root / "gone")
    with pytest.raises(ChartError, match="holds no charts"):
        pack(root / "dist", root)


def test_a_link_may_lead_only_to_what_lies_beside_the_charts(root: Path) -> None:
    (root / FOLDER / "big" / "secret.txt").symlink_to("/etc/hostname")
    with pytest.raises(ChartError, match=r"secret\.txt is a link to .*a chart holds only files below"):
        pack(root / "dist", root)


def test_a_link_may_lead_to_the_definition_of_a_kind(root: Path) -> None:
    definitions = root / FOLDER.replace("charts", "crds")
    definitions.mkdir()
    (definitions / "kind.yaml").write_text("kind: CustomResourceDefinition\n")
    (root / FOLDER / "big" / "crds").mkdir()
    (root / FOLDER / "big" / "crds" / "kind.yaml").symlink_to("../../../crds/kind.yaml")
    assert files_of(root / FOLDER / "big")["crds/kind.yaml"] == b"kind: CustomResourceDefinition\n"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        pytest.param("../nowhere", "a link to nothing", id="to nothing"),
        pytest.param("../../big", "would never end", id="to a folder that holds it"),
    ],
)
def test_a_link_that_cannot_be_packed_is_refused(root: Path, target: str, told: str) -> None:
    (root / FOLDER / "big" / "charts" / "odd").symlink_to(target)
    with pytest.raises(ChartError, match=told):
        pack(root / "dist", root)


def test_a_chart_without_what_it_is_made_with_is_refused(root: Path) -> None:
    (root / FOLDER / "big" / "charts" / "parts").unlink()
    with pytest.raises(ChartError, match=r"big/charts/parts is missing.*it is a link to \.\./\.\./parts\.$"):
        pack(root / "dist", root)


def test_rules_of_helm_that_are_not_read_here_are_refused(root: Path) -> None:
    write(root, f"{FOLDER}/big/.helmignore", "*.bak\n")
    with pytest.raises(ChartError, match=r"\.helmignore would be read by helm and not by `make charts`"):
        pack(root / "dist", root)


def test_the_projects_own_charts_are_packed_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--output", str(tmp_path / "dist")]) == 0

    names = sorted(path.name for path in (tmp_path / "dist").iterdir())
    assert [name.rpartition("-")[0] for name in names] == [
        "metax-gpu-extensions",
        "metax-operator",
        "tangram",
    ]
    said = capsys.readouterr().out
    for name in names:
        assert name in said
        packed = [entry.name for entry in entries((tmp_path / "dist" / name).read_bytes())]
        chart = name.rpartition("-")[0]
        assert packed[0] == f"{chart}/Chart.yaml"
        assert f"{chart}/charts/tangram-parts/Chart.yaml" in packed
        shared = (ROOT / FOLDER / "tangram-parts").rglob("*.tpl")
        for path in shared:
            assert f"{chart}/charts/{path.relative_to(ROOT / FOLDER)}" in packed


def test_a_folder_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["--output", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith("The charts could not be packed: ")


def test_the_compressed_file_is_one_that_gzip_reads(root: Path) -> None:
    (made,) = pack(root / "dist", root)
    assert gzip.decompress(made.read_bytes())[257:262] == b"ustar"
