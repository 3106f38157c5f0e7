"""Archives as `docker save` of several ages writes them, small, and compressed as MetaX ships its own."""

import gzip
import hashlib
import io
import json
import lzma
import random
import tarfile
from pathlib import Path
from typing import Literal

BEFORE = "cr.metax-tech.com/library/maca-c500:2.23.0.4-ubuntu18.04-amd64"
SINCE = "mxc500-maca:2.23.0.4-ubuntu20.04-amd64"
BEFORE_FILE = "maca-c500-container-2.23.0.4-ubuntu18.04-amd64.xz"
SINCE_FILE = "mxc500-maca-2.23.0.4-ubuntu20.04-amd64.container.xz"
Form = Literal["old", "links", "blobs", "packed"]
"""A folder for each layer, a link where a layer is there twice, blobs by digest, and blobs that are compressed."""


def layer_of(number: int, size: int) -> bytes:
    """A layer with one file of random bytes."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        _add(tar, f"opt/maca/file{number}", random.Random(number).randbytes(size))  # noqa: S311
    return made.getvalue()


def saved_archive(
    path: Path,
    names: tuple[str, ...] = (SINCE,),
    *,
    form: Form = "old",
    size: int = 3000,
    architecture: str = "amd64",
    changes: dict[str, bytes | None] | None = None,
) -> Path:
    """Write the archive; the file's name says whether it is compressed. `changes` are of its members."""
    layers = [layer_of(number, size) for number in (1, 2)]
    if form == "links":
        layers.append(layers[0])
    config = json.dumps(
        {
            "architecture": architecture,
            "os": "linux",
            "config": {"Env": ["PATH=/usr/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_sum(one)}" for one in layers]},
        }
    ).encode()
    members: dict[str, bytes] = {}
    links: dict[str, str] = {}
    paths: list[str] = []
    for number, layer in enumerate(layers):
        content = gzip.compress(layer, mtime=0) if form == "packed" else layer
        if form in {"blobs", "packed"}:
            paths.append(f"blobs/sha256/{_sum(content)}")
        else:
            paths.append(f"{number}{_sum(layer)[1:]}/layer.tar")
        if form == "links" and number == 2:
            links[paths[-1]] = f"../{paths[0]}"
        else:
            members[paths[-1]] = content
    named = f"blobs/sha256/{_sum(config)}" if form in {"blobs", "packed"} else f"{_sum(config)}.json"
    members[named] = config
    entry = {"Config": named, "RepoTags": list(names) or None, "Layers": paths}
    members["manifest.json"] = json.dumps([entry]).encode()
    if form in {"blobs", "packed"}:  # beside it, newer dockers write an index without platforms
        top = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "sha256:x", "size": 1}
        members["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [top]}).encode()
    for name, content in (changes or {}).items():
        if content is None:
            del members[next(one for one in members if one.startswith(name))]
        else:
            members[name] = content
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content in members.items():
            _add(tar, name, content)
        for name, target in links.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
    path.write_bytes(_packed(path, made.getvalue()))
    return path


def _packed(path: Path, content: bytes) -> bytes:
    if path.suffix == ".xz":
        return lzma.compress(content, preset=0)
    return gzip.compress(content, mtime=0) if path.suffix == ".gz" else content


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))
