"""Where the built programs are, for everything that runs them.

One folder for each component, named after everything that went into it: a change makes a new folder beside the old
one, so two checkouts with different versions share a cache without disturbing each other. A folder appears under its
name only when it is complete; whoever finds it may use it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testbed.cachefolder import cache_folder
from testbed.errors import BedError
from testbed.parts import Component, read_components
from testbed.toolchain import find_go

CNI: Final = "cni"
"""The component whose folder holds nothing but network plugins, as container runtimes want it."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """Every program of the test bed."""

    folders: Mapping[str, Path]
    """Of each component."""
    versions: Mapping[str, str]
    programs: Mapping[str, Path]

    def path(self, name: str) -> Path:
        """Where a program is, e.g. `kubelet`. Raises `BedError` for a name that no component has."""
        found = self.programs.get(name)
        if found is None:
            raise BedError(
                f"The test bed has no program {name!r}; it has {', '.join(sorted(self.programs))}."
            )
        return found

    def version(self, component: str) -> str:
        """Of a component, as its authors write it: v1.2.3. Raises `BedError` for a name that is none."""
        found = self.versions.get(component)
        if found is None:
            raise BedError(f"The test bed has no component {component!r}; it has {', '.join(self.versions)}.")
        return found

    @property
    def cni_folder(self) -> Path:
        return self.folders[CNI]

    @property
    def digest(self) -> str:
        """Of everything that went into all of them."""
        names = "\n".join(f"{name}/{folder.name}" for name, folder in sorted(self.folders.items()))
        return hashlib.sha256(names.encode()).hexdigest()[:20]


def components_root() -> Path:
    """The part of the cache that belongs to built components."""
    return cache_folder() / "components"


def component_folder(root: Path, component: Component, go_version: str) -> Path:
    """Where a component is once it is built with that Go."""
    return root / component.name / f"{component.digest}-{go_version}"


def is_complete(folder: Path, component: Component) -> bool:
    """A folder is whole from the moment it has its name; this sees that nobody took a program away since."""
    return all((folder / program).is_file() for program in component.programs.values())


def binaries_in(folders: Mapping[str, Path], components: Iterable[Component]) -> Binaries:
    """The record of folders that are known to be complete."""
    known = tuple(components)
    return Binaries(
        folders,
        {component.name: component.version for component in known},
        {
            program: folders[component.name] / program
            for component in known
            for program in component.programs.values()
        },
    )


def find_binaries() -> Binaries:
    """The programs as the go.mod files of this checkout ask for them, built before.

    Raises `BedError` where they are not. On a machine without Go (a cache brought from elsewhere) what any Go made of
    these files will do.
    """
    components = read_components()
    root = components_root()
    folders: dict[str, Path] = {}
    missing: list[str] = []
    go_version = _go_version(components)
    for component in components:
        candidates = (
            _by_any_go(root, component)
            if go_version is None
            else [component_folder(root, component, go_version)]
        )
        found = next((folder for folder in candidates if is_complete(folder, component)), None)
        if found is None:
            missing.append(component.name)
        else:
            folders[component.name] = found
    if missing:
        what = "is not built" if len(missing) == len(components) else f"lacks {', '.join(missing)}"
        raise BedError(f"The test bed {what} (looked in {root}): run `make testbed` first.")
    return binaries_in(folders, components)


def cache_key() -> str:
    """A digest of everything that goes into the programs, built or not; raises `BedError` where there is no Go."""
    components = read_components()
    version = find_go(component.go for component in components).version
    root = Path()
    return binaries_in(
        {component.name: component_folder(root, component, version) for component in components}, components
    ).digest


def _go_version(components: Iterable[Component]) -> str | None:
    try:
        return find_go(component.go for component in components).version
    except BedError:
        return None


def _by_any_go(root: Path, component: Component) -> list[Path]:
    """The latest first."""
    found = (root / component.name).glob(f"{component.digest}-*")
    return sorted(found, key=lambda folder: folder.stat().st_mtime, reverse=True)
