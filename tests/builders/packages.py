"""Tiny packages for tests of the image builder: wheels, Debian packages, ELF files, and the tools that fetch them."""

import base64
import hashlib
import io
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from shipping.image.debs import Deb, fields_of
from shipping.image.tree import Entry, File

AMD64 = 62
ARM64 = 183


def wheel_file(
    folder: Path,
    name: str = "thing",
    version: str = "1.0",
    *,
    files: Mapping[str, bytes] | None = None,
    metadata: str = "",
    entry_points: str = "",
    spoiled: str = "",
) -> Path:
    """A wheel. `spoiled` names a file whose content differs from the record."""
    information = f"{name}-{version}.dist-info"
    content = {f"{name}/__init__.py": b"x = 1\n", **(files or {})}
    content[f"{information}/METADATA"] = (
        f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{metadata}\nWords.\n".encode()
    )
    if entry_points:
        content[f"{information}/entry_points.txt"] = entry_points.encode()
    record = "".join(f"{path},sha256={_record_digest(data)},{len(data)}\n" for path, data in content.items())
    content[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    if spoiled:
        content[spoiled] += b"!"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for one, data in content.items():
            archive.writestr(zipfile.ZipInfo(one, (2020, 2, 2, 0, 0, 0)), data)
    return path


def _record_digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def deb_of(name: str, files: Mapping[str, Entry] | None = None, version: str = "1.0-1") -> Deb:
    """A Debian package as it is after reading."""
    control = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nDescription: a thing\n more of it\n"
    return Deb(
        name=name,
        version=version,
        architecture="amd64",
        control=control,
        fields=fields_of(control),
        sha256=hashlib.sha256(name.encode()).hexdigest(),
        files=files or {},
    )


def certificates() -> Deb:
    """The package no base layer can do without."""
    pair = {
        f"usr/share/ca-certificates/mozilla/{name}.crt": File(f"-- {name} --\n".encode()) for name in "ba"
    }
    return deb_of("ca-certificates", pair)


def tar_of(members: list[tarfile.TarInfo], content: bytes = b"content") -> bytes:
    """A tar archive with these members; every file has the same content."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for member in members:
            if member.isreg():
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            else:
                archive.addfile(member)
    return stream.getvalue()


def member(
    name: str, kind: bytes = tarfile.REGTYPE, *, target: str = "", mode: int = 0o644
) -> tarfile.TarInfo:
    """One member of such an archive."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode, made.mtime = kind, target, mode, 1000
    return made


def elf_file(*needed: str, machine: int = AMD64, runpath: str = "", loader: str = "") -> bytes:
    """The smallest file in which a loader finds names of libraries."""
    strings = b"\0"
    entries: list[tuple[int, int]] = []
    for tag, text in [*((1, name) for name in needed), *([(29, runpath)] if runpath else [])]:
        entries.append((tag, len(strings)))
        strings += text.encode() + b"\0"
    base, head, entry = 0x400000, 64, 56
    segments = 3 if loader else 2
    strings_at = head + segments * entry
    loader_at = strings_at + len(strings)
    dynamic_at = loader_at + len(loader) + 1
    entries += [(5, base + strings_at), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", tag, value) for tag, value in entries)
    whole = dynamic_at + len(dynamic)
    table = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, whole, whole, 4096)
    table += struct.pack("<IIQQQQQQ", 2, 6, dynamic_at, base + dynamic_at, 0, len(dynamic), len(dynamic), 8)
    if loader:
        table += struct.pack(
            "<IIQQQQQQ", 3, 4, loader_at, base + loader_at, 0, len(loader) + 1, len(loader) + 1, 1
        )
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = identity + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, head, 0, 0, 64, entry, segments, 0, 0, 0
    )
    return header + table + strings + loader.encode() + b"\0" + dynamic


def fake_program(folder: Path, name: str, script: str) -> Path:
    """A shell script under the name of a tool, for the front of PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return path
