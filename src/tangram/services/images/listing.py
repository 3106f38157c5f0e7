"""What an archive holds, as a record for people and programs."""

from __future__ import annotations

import msgspec

from tangram.services.images.archive import Archive, NamedImage


class ListedPlatform(msgspec.Struct, frozen=True):
    platform: str
    digest: str
    size: int
    """Bytes that a node downloads."""
    layers: tuple[str, ...]


class ListedImage(msgspec.Struct, frozen=True):
    name: str
    version: str
    digest: str
    """What all platforms have in a registry under the version alone."""
    platforms: tuple[ListedPlatform, ...]


class Listing(msgspec.Struct, frozen=True):
    file: str
    images: tuple[ListedImage, ...]


def listing_of(archive: Archive) -> Listing:
    """All images of the archive, in its order."""
    return Listing(str(archive.path), tuple(_listed(image) for image in archive.images))


def _listed(image: NamedImage) -> ListedImage:
    return ListedImage(
        image.name.rpartition(":")[0],
        image.tag,
        image.top.digest,
        tuple(
            ListedPlatform(
                str(one.platform), one.manifest.digest, one.size, tuple(layer.digest for layer in one.layers)
            )
            for one in image.platforms
        ),
    )
