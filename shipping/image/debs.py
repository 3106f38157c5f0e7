"""Debian packages read as what they are, archives with a description: `dpkg-deb` opens them, nothing is installed.

Maintainer scripts never run; what they would have done for the packages in the image is in `system`.
"""

import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shipping.image.errors import ImageError
from shipping.image.tools import last_words, run
from shipping.image.tree import Entry, File, Link, Tree, clean_name

_NEED = "Opening Debian packages"


@dataclass(frozen=True, slots=True)
class Deb:
    """One package: its description, its files, and the digest of the archive they came in."""

    name: str
    version: str
    architecture: str
    control: str
    fields: Mapping[str, str]
    sha256: str
    files: Tree

    @property
    def copyright(self) -> str:
        """Its licences in words; empty if another package of the same source holds them."""
        found = self.files.get(f"usr/share/doc/{self.name}/copyright")
        return found.content.decode("utf-8", "replace") if isinstance(found, File) else ""


def read_deb(path: Path) -> Deb:
    """A package file, whole."""
    control = _asked("--field", path).decode("utf-8", "replace")
    fields = fields_of(control)
    try:
        name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
    except KeyError as missing:
        raise ImageError(
            f"{path.name} does not say its {missing}: delete it, so that it is fetched again."
        ) from None
    return Deb(
        name=name,
        version=version,
        architecture=architecture,
        control=control,
        fields=fields,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        files=files_of(_asked("--fsys-tarfile", path), path.name),
    )


def fields_of(control: str) -> dict[str, str]:
    """The first lines of a description's fields; what goes on over several lines is prose."""
    pairs = (line.partition(":") for line in control.splitlines() if line[:1].strip())
    return {name: value.strip() for name, _, value in pairs}


def files_of(tar: bytes, origin: str) -> dict[str, Entry]:
    """The files of a package's tar archive; folders follow from them.

    Hard links become files of their own, so that leaving one name out never takes the content from another.
    """
    tree: dict[str, Entry] = {}
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        for member in archive:
            name = clean_name(member.name, origin)
            mtime = int(member.mtime)
            if member.isdir():
                continue
            if member.issym():
                tree[name] = Link(member.linkname, mtime)
            elif member.isreg() or member.islnk():
                content = archive.extractfile(member)
                if content is None:
                    raise ImageError(f"{origin} holds {member.name}, a link to a file it does not hold.")
                tree[name] = File(content.read(), bool(member.mode & 0o111), mtime)
            else:
                raise ImageError(f"{origin} holds {member.name}, which is neither file, folder nor link.")
    return tree


def _asked(question: str, path: Path) -> bytes:
    answer = run(["dpkg-deb", question, path], needed_for=_NEED, package="dpkg")
    if answer.returncode != 0:
        raise ImageError(
            f"{path} is no whole Debian package; delete it, so that it is fetched again. dpkg-deb said:\n"
            f"{last_words(answer)}"
        )
    return answer.stdout
