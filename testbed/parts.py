"""The components of the test bed: what differs from one to the next when it is built.

Versions and packages are not here but in `components/<name>/go.mod`, so that moving to a new release is one edit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from testbed.errors import BedError
from testbed.gomod import GoMod, read_go_mod

COMPONENTS_FOLDER: Final = Path(__file__).parent / "components"

_SOURCE = "go-module"
"""In the place of a commit: a module names none, and programs print odd placeholders where it is empty."""


def _kubernetes_variables() -> dict[str, str]:
    """As its own release script sets them; without, every program says v0.0.0-master and clients complain.

    The date is fixed, so that the same sources give the same program.
    """
    values = {
        "gitVersion": "{version}",
        "gitMajor": "{major}",
        "gitMinor": "{minor}",
        "gitCommit": _SOURCE,
        "gitTreeState": "archive",
        "buildDate": "1970-01-01T00:00:00Z",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return {f"{package}.{name}": value for package in packages for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Part:
    """One row. In variables and program names {version} is v1.2.3, {number} 1.2.3, {major} 1 and {minor} 2."""

    name: str
    """Also of its folder under `components`."""
    typical_seconds: float
    """From nothing, downloads included, on two cores. Only the estimate uses it; a change rebuilds nothing."""
    tags: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts that the linker writes into the program."""
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """From Go's name of a program to ours, where they differ."""
    static_c: bool = False
    """Compiled with C, and linked so that it runs where the machine's own libraries are out of sight."""


# In building order: the next ones download while the present one compiles, so small downloads come first and the
# largest has the most time.
PARTS: Final = (
    Part(
        "cni",
        typical_seconds=14,
        variables={"github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion": "{version}"},
    ),
    Part("runc", typical_seconds=17, tags=("seccomp", "netgo", "osusergo"), static_c=True),
    Part(
        "etcd",
        typical_seconds=31,
        variables={"go.etcd.io/etcd/api/v3/version.GitSHA": _SOURCE},
        renamed={"server": "etcd"},
    ),
    Part(
        "containerd",
        typical_seconds=50,
        tags=("no_btrfs", "no_devmapper", "no_zfs"),
        variables={
            "github.com/containerd/containerd/v2/version.Version": "{version}",
            "github.com/containerd/containerd/v2/version.Revision": _SOURCE,
        },
    ),
    Part("kubernetes", typical_seconds=215, variables=_kubernetes_variables()),
    Part("kwok", typical_seconds=60, variables={"sigs.k8s.io/kwok/pkg/consts.Version": "{number}"}),
    Part(
        "kubectl-1.28",
        typical_seconds=48,
        variables=_kubernetes_variables(),
        renamed={"kubectl": "kubectl-{major}.{minor}"},
    ),
    Part(
        "helm",
        typical_seconds=80,
        variables={
            "helm.sh/helm/v4/internal/version.version": "{version}",
            "helm.sh/helm/v4/internal/version.gitCommit": _SOURCE,
            "helm.sh/helm/v4/internal/version.gitTreeState": "archive",
        },
    ),
)


@dataclass(frozen=True, slots=True)
class Component:
    """A row together with what its go.mod says."""

    part: Part
    folder: Path
    version: str
    """As its authors write it, with the v."""
    go: str
    """The oldest Go that compiles it."""
    packages: tuple[str, ...]
    programs: Mapping[str, str]
    """From the name that Go gives to the name it is known by here."""
    digest: str = ""
    """Equal digests, equal programs; the version of Go comes on top."""

    @property
    def name(self) -> str:
        return self.part.name

    @property
    def arguments(self) -> tuple[str, ...]:
        """For `go build`, without the place and the packages."""
        # Nobody debugs these programs: without the tables for it they compile and link about a tenth faster.
        linking = ["-s", "-w"]
        if self.part.static_c:
            linking += ["-linkmode=external", "-extldflags=-static"]
        linking += [f"-X={name}={_filled(text, self.version)}" for name, text in self.part.variables.items()]
        return (
            "-mod=readonly",
            "-buildvcs=false",
            "-trimpath",
            f"-tags={','.join(self.part.tags)}",
            "-gcflags=all=-dwarf=false",
            f"-ldflags={' '.join(linking)}",
        )


def read_components(folder: Path = COMPONENTS_FOLDER, parts: Sequence[Part] = PARTS) -> tuple[Component, ...]:
    """All components, in building order. Raises `BedError` if a file of theirs is missing or makes no sense."""
    return tuple(_component(folder / part.name, part) for part in parts)


def _component(folder: Path, part: Part) -> Component:
    mod = read_go_mod(folder / "go.mod")
    version = _version(folder, mod)
    named = {_go_name(package): package for package in mod.tools}
    if len(named) != len(mod.tools):
        raise BedError(
            f"{folder / 'go.mod'} has two tools of one name: each program needs a name of its own."
        )
    renamed = {name: _filled(text, version) for name, text in part.renamed.items()}
    programs = {name: renamed.get(name, name) for name in named}
    component = Component(part, folder, version, mod.go, packages=mod.tools, programs=programs)
    return replace(component, digest=_digest(component))


def _version(folder: Path, mod: GoMod) -> str:
    version = mod.version_of(mod.tools[0])
    if version is None or re.fullmatch(r"v\d+\.\d+\.\d+\S*", version) is None:
        raise BedError(
            f"{folder / 'go.mod'} requires no version of {mod.tools[0]}: restore it from the repository."
        )
    return version


def _digest(component: Component) -> str:
    recipe = {
        "arguments": component.arguments,
        "cgo": component.part.static_c,
        "packages": component.packages,
        "programs": dict(component.programs),
        "machine": os.uname().machine,
    }
    sha = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode())
    for name in ("go.mod", "go.sum"):
        path = component.folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise BedError(
                f"{path} cannot be read ({error.strerror}): restore it from the repository."
            ) from None
        sha.update(hashlib.sha256(content).digest())
    return sha.hexdigest()[:20]


def _go_name(package: str) -> str:
    """The last element of the path; of a path that ends in a major version, the one before."""
    *before, last = package.split("/")
    return before[-1] if before and re.fullmatch(r"v\d+", last) else last


def _filled(text: str, version: str) -> str:
    number = version.removeprefix("v")
    major, minor, *_ = number.split(".")
    return text.format(version=version, number=number, major=major, minor=minor)
