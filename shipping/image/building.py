"""`make image`: from packages to files in dist/, and nothing at all if they are there already.

What is in dist/ is described by a small record beside it, which also says from which inputs it was made; a second
build with the same inputs reads the record and stops. Nobody pays for a large image by accident: above the budget
the build fails.
"""

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from shipping.image.archives import write_index_archive, write_platform_archive
from shipping.image.cachefolder import cache_folder, forget_unused, key_of, only_builder
from shipping.image.downloads import debian_packages, locked_wheels
from shipping.image.errors import ImageError
from shipping.image.layering import (
    Stored,
    debian_layer,
    python_on_disk,
    tangram_layer,
    tangram_tree,
    wheel_layer,
)
from shipping.image.oci import PlatformImage, describe, digest_of, index_of, labels_of
from shipping.image.platforms import PLATFORMS, Platform, of_this_machine
from shipping.image.programs import SOURCES, Go, compiled, find_go, parts_of_programs, programs_tree
from shipping.image.progress import Progress
from shipping.image.project import ROOT, Project, build_wheel, read_project
from shipping.image.sbom import PLACE_IN_IMAGE, part_of_wheel, spdx_document
from shipping.image.tree import File
from shipping.image.wheels import Wheel, read_wheel

BUDGET: Final = 150_000_000
"""Bytes that a node downloads, for each platform."""
REPOSITORY: Final = "tangram.dev/cloud/tangram"
"""The name inside the archives: what the charts ask for unless told of another registry."""


class Written(msgspec.Struct, frozen=True):
    size: int
    sha256: str


class Record(msgspec.Struct, frozen=True):
    """What a build made. `image` is the name inside the archives, `digest` that of the index."""

    inputs: str
    image: str
    digest: str
    manifests: dict[str, str]
    compressed_bytes: dict[str, int]
    files: dict[str, Written]


def build(output: Path, progress: Progress, *, root: Path = ROOT, refresh: bool = False) -> Record:
    """The image of the working tree `root` in the folder `output`, made as far as it is not there yet."""
    project = read_project(root)
    host = of_this_machine()
    go = find_go(root / SOURCES)
    with only_builder(cache_folder(), progress.say):
        debs = {one.name: debian_packages(one, progress, refresh=refresh) for one in PLATFORMS}
        wheels = {one.name: locked_wheels(project.lock, one, progress) for one in PLATFORMS}
        sources = [folder.name for folders in (debs, wheels) for folder in folders.values()]
        inputs = key_of(
            [project.content, project.version, project.revision, str(project.moment), go.version, *sources]
        )
        present = read_record(output, project.version)
        if present is not None and present.inputs == inputs and _all_there(output, present):
            progress.say(f"{output} holds the image of these sources already: {summary(present)}")
            return present
        with progress.step("Building the wheel"):
            python = python_on_disk(debs[host.name])
            wheel = _own_wheel(project)
        with progress.step("Compiling the programs for hosts"):
            programs = {one.name: compiled(root / SOURCES, project.version, one, go) for one in PLATFORMS}
        images: list[PlatformImage] = []
        lists: dict[str, bytes] = {}
        for platform in PLATFORMS:
            with progress.step(f"Making the image for {platform.name}"):
                image, sbom = _image(
                    project,
                    wheel,
                    platform,
                    go,
                    programs=programs[platform.name],
                    debs=debs[platform.name],
                    wheels=wheels[platform.name],
                    python=python,
                )
            images.append(image)
            lists[platform.name] = sbom
        refuse_large(images)
        with progress.step(f"Writing {output}"):
            record = _write(output, project, inputs, images, lists)
        forget_unused(cache_folder(), time.time())
    progress.say(summary(record))
    return record


def read_record(output: Path, version: str) -> Record | None:
    """What the last build in this folder made; nothing if there is none, or one that wrote other records."""
    with suppress(FileNotFoundError, msgspec.DecodeError):
        return msgspec.json.decode((output / record_name(version)).read_bytes(), type=Record)
    return None


def refuse_large(images: Sequence[PlatformImage]) -> None:
    """Raise if a node would download more than the budget."""
    for image in images:
        if image.size > BUDGET:
            sizes = ", ".join(f"{layer.size / 1e6:.0f}" for layer in image.layers)
            raise ImageError(
                f"The image for {image.platform.name} is {image.size / 1e6:.0f} MB compressed (layers of {sizes} MB), "
                f"more than the {BUDGET / 1e6:.0f} MB it may be: see what grew in requirements/image.txt or recipe.py."
            )


def summary(record: Record) -> str:
    """The image in a sentence."""
    sizes = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sorted(record.compressed_bytes.items()))
    return f"{record.image}@sha256:{record.digest[:16]}… ({sizes} compressed)."


def archive_name(version: str) -> str:
    """The file in dist/ that holds all platforms."""
    return f"tangram-{version}-oci.tar"


def platform_archive_name(version: str, platform: Platform) -> str:
    """The file in dist/ that holds one."""
    return f"tangram-{version}-linux-{platform.name}.tar"


def sbom_name(version: str, platform: Platform) -> str:
    """The file in dist/ that lists what is in it."""
    return f"tangram-{version}-linux-{platform.name}.spdx.json"


def record_name(version: str) -> str:
    """The file in dist/ that says what the others are."""
    return f"tangram-{version}-image.json"


def _own_wheel(project: Project) -> Wheel:
    name, content = build_wheel(project)
    folder = cache_folder() / "own"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return read_wheel(path)


def _image(
    project: Project,
    wheel: Wheel,
    platform: Platform,
    go: Go,
    *,
    programs: Path,
    debs: Path,
    wheels: Path,
    python: Path,
) -> tuple[PlatformImage, bytes]:
    debian = debian_layer(debs, platform, python)
    others = wheel_layer(wheels, debs, debian, platform, python)
    own_parts = [part_of_wheel(wheel), *parts_of_programs(programs, project.version, go)]
    parts = [*debian.facts.parts, *others.facts.parts, *own_parts]
    sbom = spdx_document(project.version, platform, parts, project.created)
    tree = {**tangram_tree(wheel, python), **programs_tree(programs, go), PLACE_IN_IMAGE: File(sbom)}
    own = tangram_layer(tree, [debian, others], platform, project.moment)
    layers: list[tuple[str, Stored]] = [
        ("Debian 12 packages", debian),
        ("Python packages of requirements/image.txt", others),
        (f"Tangram {project.version}", own),
    ]
    labels = labels_of(project.version, project.revision, project.created)
    return describe(
        platform, [(what, stored.layer) for what, stored in layers], labels, project.created
    ), sbom


def _write(
    output: Path, project: Project, inputs: str, images: Sequence[PlatformImage], lists: dict[str, bytes]
) -> Record:
    version = project.version
    name = f"{REPOSITORY}:{version}"
    index = index_of(images, labels_of(version, project.revision, project.created))
    output.mkdir(parents=True, exist_ok=True)
    # Without the record nothing half written is taken for whole.
    (output / record_name(version)).unlink(missing_ok=True)
    write_index_archive(output / archive_name(version), name, index, images)
    names = [archive_name(version)]
    for image in images:
        archive, sbom = platform_archive_name(version, image.platform), sbom_name(version, image.platform)
        write_platform_archive(output / archive, name, image)
        (output / sbom).write_bytes(lists[image.platform.name])
        names += [archive, sbom]
    record = Record(
        inputs=inputs,
        image=name,
        digest=digest_of(index),
        manifests={image.platform.name: digest_of(image.manifest) for image in images},
        compressed_bytes={image.platform.name: image.size for image in images},
        files={one: _written(output / one) for one in names},
    )
    (output / record_name(version)).write_bytes(
        msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
    )
    return record


def _written(path: Path) -> Written:
    with path.open("rb") as file:
        return Written(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _all_there(output: Path, record: Record) -> bool:
    return all(
        (output / name).is_file() and (output / name).stat().st_size == written.size
        for name, written in record.files.items()
    )
