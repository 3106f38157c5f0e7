"""Small images in archives, written by what writes the real ones."""

import random
from pathlib import Path

from shipping.image.archives import write_index_archive, write_platform_archive
from shipping.image.layers import Layer, write_layer
from shipping.image.oci import PlatformImage, describe, index_of, labels_of
from shipping.image.platforms import PLATFORMS
from shipping.image.tree import File

NAME = "tangram.dev/cloud/tangram:1.2.3"
CREATED = "2026-01-01T00:00:00Z"


def small_images(folder: Path, size: int = 3000) -> list[PlatformImage]:
    """An image for each platform: a layer that both share, and one of their own of about `size` bytes."""
    labels = labels_of("1.2.3", "abc", CREATED)
    shared = write_layer({"shared": File(b"for both")}, folder / "shared")

    def own(number: int, name: str) -> Layer:
        # Random, so that compression leaves the size.
        return write_layer({"own": File(random.Random(number).randbytes(size))}, folder / name)  # noqa: S311

    return [
        describe(platform, [("base", shared), ("own", own(number, platform.name))], labels, CREATED)
        for number, platform in enumerate(PLATFORMS)
    ]


def index_archive(folder: Path, size: int = 3000, name: str = NAME) -> Path:
    """Both platforms in one archive."""
    made = small_images(folder, size)
    path = folder / "all.tar"
    write_index_archive(path, name, index_of(made, {}), made)
    return path


def platform_archive(folder: Path, size: int = 3000) -> Path:
    """Only the first platform."""
    path = folder / "one.tar"
    write_platform_archive(path, NAME, small_images(folder, size)[0])
    return path
