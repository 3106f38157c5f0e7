"""The table of components and the go.mod files it stands on."""

from pathlib import Path

import pytest

from testbed.errors import BedError
from testbed.gomod import read_go_mod
from testbed.parts import COMPONENTS_FOLDER, PARTS, Component, Part, read_components

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def components() -> dict[str, Component]:
    return {component.name: component for component in read_components()}


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.sum").write_text("", "utf-8")
    (folder / "go.mod").write_text(text, "utf-8")
    return folder / "go.mod"


def test_every_folder_has_its_row_and_every_row_its_folder() -> None:
    assert {part.name for part in PARTS} == {path.name for path in COMPONENTS_FOLDER.iterdir()}


def test_all_programs_a_cluster_needs_are_built_and_none_twice(components: dict[str, Component]) -> None:
    programs = [program for component in components.values() for program in component.programs.values()]
    assert len(programs) == len(set(programs))
    assert set(programs) == {
        "bridge", "containerd", "containerd-shim-runc-v2", "ctr", "etcd", "helm", "host-local", "kube-apiserver",
        "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubectl-1.28", "kubelet", "kwok",
        "loopback", "runc",
    }  # fmt: skip


def test_network_plugins_are_alone_in_their_component(components: dict[str, Component]) -> None:
    assert set(components["cni"].programs.values()) == {"bridge", "host-local", "loopback"}


@pytest.mark.parametrize("name", ["kubernetes", "kubectl-1.28"])
def test_kubernetes_programs_know_their_version(components: dict[str, Component], name: str) -> None:
    component = components[name]
    _, minor, _ = component.version.split(".")
    flags = next(argument for argument in component.arguments if argument.startswith("-ldflags="))
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        assert f"-X={package}.gitVersion={component.version} " in flags
        assert f"-X={package}.gitMajor=1 -X={package}.gitMinor={minor} " in flags


def test_an_old_kubectl_is_named_after_its_version(components: dict[str, Component]) -> None:
    old = components["kubectl-1.28"]
    assert list(old.programs.values()) == [f"kubectl-{'.'.join(old.version.lstrip('v').split('.')[:2])}"]
    assert old.name in old.programs.values(), "its folder says the same"


def test_staging_modules_of_kubernetes_are_those_of_its_release(components: dict[str, Component]) -> None:
    for name in ("kubernetes", "kubectl-1.28"):
        text = (components[name].folder / "go.mod").read_text("utf-8")
        _, minor, patch = components[name].version.split(".")
        replacements = [line.split("=>")[1].split() for line in text.splitlines() if "=>" in line]
        assert {version for _, version in replacements} == {f"v0.{minor}.{patch}"}


def test_nothing_that_changes_the_programs_is_outside_the_digest(tmp_path: Path) -> None:
    write(tmp_path / "x", "go 1.26\ntool example.org/x\nrequire example.org/x v1.0.0\n")

    def digest(part: Part) -> str:
        (component,) = read_components(tmp_path, [part])
        return component.digest

    usual = digest(Part("x", typical_seconds=1))
    assert usual == digest(Part("x", typical_seconds=2)), "an estimate is not part of a program"
    others = [
        Part("x", typical_seconds=1, tags=("t",)),
        Part("x", typical_seconds=1, variables={"main.version": "1"}),
        Part("x", typical_seconds=1, renamed={"x": "y"}),
        Part("x", typical_seconds=1, static_c=True),
    ]
    assert len({usual, *map(digest, others)}) == 5


def test_a_go_mod_is_read_in_all_the_ways_it_may_be_written(tmp_path: Path) -> None:
    mod = read_go_mod(
        write(
            tmp_path,
            "module m\n\ngo 1.26.0 // at least\n\ntool example.org/a/cmd/a\ntool (\n\texample.org/a/b/c\n)\n"
            "require example.org/a v1.0.0\nrequire (\n\texample.org/a/b v2.0.0 // indirect\n)\n"
            "replace example.org/a => example.org/fork v1.1.0\n",
        )
    )
    assert mod.go == "1.26.0"
    assert mod.tools == ("example.org/a/cmd/a", "example.org/a/b/c")
    assert mod.version_of("example.org/a/cmd/a") == "v1.0.0"
    assert mod.version_of("example.org/a/b/c") == "v2.0.0", "the longest path owns the package"
    assert mod.version_of("example.org/abc") is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("tool a/b\nrequire a v1.0.0\n", "has no `go` line", id="no go"),
        pytest.param("go 1.26\nrequire a v1.0.0\n", "has no `tool` line", id="no tool"),
        pytest.param("go 1.26\ntool a/b\n", "has no `require` line", id="no require"),
        pytest.param("go new\ntool a/b\nrequire a v1.0.0\n", "must look like 1.26.0", id="odd go"),
        pytest.param(
            "go 1.26\ntool a/b\nrequire c v1.0.0\n", "requires no version of a/b", id="foreign tool"
        ),
        pytest.param("go 1.26\ntool a/b\nrequire a main\n", "requires no version of a/b", id="odd version"),
        pytest.param(
            "go 1.26\ntool a/x\ntool a/y/x\nrequire a v1.0.0\n", "two tools of one name", id="twins"
        ),
    ],
)
def test_a_broken_go_mod_is_named_with_what_is_wrong(tmp_path: Path, text: str, complaint: str) -> None:
    path = write(tmp_path / "x", text)
    with pytest.raises(BedError) as caught:
        read_components(tmp_path, [Part("x", typical_seconds=1)])
    assert str(path) in str(caught.value)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("name", ["go.mod", "go.sum"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    write(tmp_path / "x", "go 1.26\ntool example.org/x\nrequire example.org/x v1.0.0\n")
    (tmp_path / "x" / name).unlink()
    with pytest.raises(BedError, match=name):
        read_components(tmp_path, [Part("x", typical_seconds=1)])
