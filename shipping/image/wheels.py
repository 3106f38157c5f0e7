"""Wheels: fetched by pip for a platform, and unpacked by us as the wheel format says.

Only wheels, never source: building one would need the platform's compiler. Console scripts of other people's
packages are left out; nobody calls them in a container. Every file is checked against the wheel's own record.
"""

import base64
import csv
import hashlib
import io
import sys
import zipfile
from calendar import timegm
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from shipping.image.errors import ImageError
from shipping.image.lockfile import Pin, requirement_lines
from shipping.image.platforms import Platform
from shipping.image.recipe import MODULES, PYTHON
from shipping.image.tools import last_words, printed, run
from shipping.image.tree import Entry, File

_MODULE_SCHEMES: Final = ("purelib", "platlib")


@dataclass(frozen=True, slots=True)
class Wheel:
    """One distribution: what its metadata say, its files below the module folder, and its archive's digest."""

    name: str
    version: str
    metadata: Mapping[str, Sequence[str]]
    scripts: Mapping[str, str]
    """Command -> module:function."""
    sha256: str
    files: Mapping[str, Entry]


def download_wheels(pins: Sequence[Pin], platform: Platform, folder: Path) -> None:
    """Fetch the wheel of each pin that runs on this platform; pip checks the hashes."""
    listing = folder / "requirements.txt"
    listing.write_text(requirement_lines(pins), "utf-8")
    digits = PYTHON.replace(".", "")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-input",
        "--retries=2",
        "--no-deps",
        "--require-hashes",
    ]
    command += [
        "--only-binary=:all:",
        "--implementation=cp",
        f"--python-version={PYTHON}",
        f"--dest={folder}",
    ]
    command += [f"--abi={abi}" for abi in (f"cp{digits}", "abi3", "none")]
    command += [f"--platform={tag}" for tag in (*platform.wheel_platforms(), "any")]
    answer = run([*command, f"--requirement={listing}"], needed_for="Fetching wheels", package="python3-pip")
    if answer.returncode != 0:
        raise ImageError(failure(printed(answer), last_words(answer), platform))
    listing.unlink()


def failure(everything: str, said: str, platform: Platform) -> str:
    """Why pip failed, and what to do about it."""
    if "connection broken by" in everything:
        return (
            f"The package index cannot be reached, and wheels for {platform.name} are not in the cache yet: connect to "
            f"a network, or configure an index that pip can reach. pip said:\n{said}"
        )
    _, absent, rest = everything.rpartition("No matching distribution found for ")
    if absent:
        return (
            f"There is no wheel of {rest.splitlines()[0].partition(' (from')[0]} for {platform.name} and Python "
            f"{PYTHON}: choose a version that has one (`make lock`). pip said:\n{said}"
        )
    if "DO NOT MATCH THE HASHES" in everything:
        return f"A wheel is not the one the lock file names, so none is used. pip said:\n{said}"
    return f"pip could not fetch the wheels for {platform.name}; it said:\n{said}"


def read_wheel(path: Path) -> Wheel:
    """A wheel, whole and checked against its record."""
    data = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            content = {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()}
            times = {info.filename: timegm((*info.date_time, 0, 0, 0)) for info in archive.infolist()}
            modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    except (zipfile.BadZipFile, EOFError) as error:
        raise ImageError(
            f"{path.name} is no whole wheel ({error}): delete it, so that it is fetched again."
        ) from None
    information = _information(path, content)
    _check_record(path, content, f"{information}/RECORD")
    metadata = HeaderParser().parsestr(content[f"{information}/METADATA"].decode())
    files: dict[str, Entry] = {}
    for name, data_of_file in content.items():
        place = _place(name)
        if place is not None:
            files[f"{MODULES}/{place}"] = File(data_of_file, bool(modes[name] & 0o111), times[name])
    return Wheel(
        name=canonicalize_name(metadata["Name"]),
        version=metadata["Version"],
        metadata={key: metadata.get_all(key, []) for key in metadata},
        scripts=_scripts(content.get(f"{information}/entry_points.txt", b"")),
        sha256=hashlib.sha256(data).hexdigest(),
        files=files,
    )


def _information(path: Path, content: Mapping[str, bytes]) -> str:
    folders = {name.partition("/")[0] for name in content}
    found = [
        folder for folder in folders if folder.endswith(".dist-info") and f"{folder}/METADATA" in content
    ]
    if len(found) != 1 or f"{found[0]}/RECORD" not in content:
        raise ImageError(f"{path.name} is no wheel: it lacks one .dist-info folder with METADATA and RECORD.")
    return found[0]


def _check_record(path: Path, content: Mapping[str, bytes], record: str) -> None:
    rows = {row[0]: row[1] for row in csv.reader(io.StringIO(content[record].decode())) if row}
    for name, data in content.items():
        if name == record or name.endswith((".jws", ".p7s")):
            continue
        kind, _, written = rows.get(name, "").partition("=")
        if kind not in {"sha256", "sha384", "sha512"}:
            raise ImageError(
                f"{path.name} holds {name}, which its record does not name with a digest: it is not used."
            )
        digest = base64.urlsafe_b64encode(hashlib.new(kind, data).digest()).rstrip(b"=").decode()
        if digest != written:
            raise ImageError(
                f"{path.name} holds {name}, which is not the file its record names: it is not used."
            )


def _place(name: str) -> str | None:
    """Where a file of a wheel goes below the module folder; nowhere if it is a script, a header or the like."""
    if name.startswith("/") or ".." in name.split("/"):
        raise ImageError(f"A wheel holds the path {name!r}, which leads out of the image: it is not used.")
    first, _, rest = name.partition("/")
    if not first.endswith(".data"):
        return name
    scheme, _, place = rest.partition("/")
    return place if scheme in _MODULE_SCHEMES else None


def _scripts(entry_points: bytes) -> dict[str, str]:
    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign] - names of commands keep their case
    parser.read_string(entry_points.decode())
    return dict(parser["console_scripts"]) if parser.has_section("console_scripts") else {}
