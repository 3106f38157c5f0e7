"""The list of what is in an image, and what its packages say of their licences."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.packages import deb_of, wheel_file
from shipping.image.licences import of_debian, of_wheel, references
from shipping.image.platforms import platform_named
from shipping.image.sbom import Part, part_of_deb, part_of_wheel, spdx_document
from shipping.image.tree import File, Link
from shipping.image.wheels import read_wheel

HEAD = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"
WHEN = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        pytest.param("Files: *\nLicense: Zlib\n", "Zlib", id="one"),
        pytest.param(
            "Files: *\nLicense: Expat\n\nFiles: a\nLicense: GPL-2+\n", "GPL-2.0-or-later AND MIT", id="all"
        ),
        pytest.param(
            "Files: *\nLicense: BSD-3-clause or GPL-2\n", "BSD-3-Clause OR GPL-2.0-only", id="a choice"
        ),
        pytest.param(
            "License: Expat\n\nLicense: Expat or GPL-2\n",
            "MIT AND (MIT OR GPL-2.0-only)",
            id="a choice and another",
        ),
        pytest.param("License: public-domain\n", "LicenseRef-debian-public-domain", id="a name SPDX lacks"),
        pytest.param(
            "License: GPL-2+ with OpenSSL exception\n",
            "LicenseRef-debian-GPL-2-with-OpenSSL-exception",
            id="an exception",
        ),
    ],
)
def test_debian_licences_are_written_as_spdx_writes_them(text: str, expression: str) -> None:
    assert of_debian(HEAD + text) == expression


def test_prose_is_not_guessed_at() -> None:
    assert of_debian("This is GPL, mostly.\nLicense: GPL-2\n") == "NOASSERTION"
    assert of_debian("") == "NOASSERTION"


@pytest.mark.parametrize(
    ("metadata", "expression"),
    [
        pytest.param(
            {"License-Expression": ["apache-2.0 or bsd-3-clause"]}, "Apache-2.0 OR BSD-3-Clause", id="new"
        ),
        pytest.param({"License": ["MIT"]}, "MIT", id="old"),
        pytest.param({"License": ["Apache License 2.0"]}, "Apache-2.0", id="old, a known name"),
        pytest.param(
            {"License": ["the whole text"], "Classifier": ["License :: OSI Approved :: MIT License"]},
            "MIT",
            id="class",
        ),
        pytest.param(
            {"Classifier": ["License :: OSI Approved :: BSD License"]}, "NOASSERTION", id="which BSD"
        ),
        pytest.param({}, "NOASSERTION", id="nothing"),
        pytest.param({"License-Expression": ["no such licence"]}, "NOASSERTION", id="not an expression"),
    ],
)
def test_licences_of_wheels_are_taken_where_they_are_beyond_doubt(
    metadata: dict[str, list[str]], expression: str
) -> None:
    assert of_wheel(metadata) == expression


def test_references_are_found() -> None:
    assert references("MIT AND (LicenseRef-b OR LicenseRef-a.1)") == ["LicenseRef-a.1", "LicenseRef-b"]


def listed(*parts: Part) -> dict[str, Any]:
    return json.loads(spdx_document("1.0", platform_named("arm64"), parts, WHEN))


def some_parts(tmp_path: Path) -> list[Part]:
    text = File((HEAD + "License: Expat\n\nLicense: odd\n").encode())
    base = deb_of("gcc-12-base", {"usr/share/doc/gcc-12-base/copyright": text})
    pointing = deb_of("libstdc++6", {"usr/share/doc/libstdc++6": Link("gcc-12-base")}, "1:12~rc+1")
    everything = {deb.name: deb for deb in (base, pointing)}
    wheel = read_wheel(wheel_file(tmp_path, metadata="License-Expression: MIT\n"))
    return [*(part_of_deb(deb, everything) for deb in everything.values()), part_of_wheel(wheel)]


def test_every_package_is_listed_with_version_digest_and_licence(tmp_path: Path) -> None:
    document = listed(*some_parts(tmp_path))
    packages = {one["name"]: one for one in document["packages"]}
    assert set(packages) == {"tangram", "gcc-12-base", "libstdc++6", "thing"}
    pointing = packages["libstdc++6"]
    assert pointing["licenseDeclared"] == "LicenseRef-debian-odd AND MIT"
    assert pointing["versionInfo"] == "1:12~rc+1"
    assert len(pointing["checksums"][0]["checksumValue"]) == 64
    locator = pointing["externalRefs"][0]["referenceLocator"]
    assert locator == "pkg:deb/debian/libstdc%2B%2B6@1%3A12~rc%2B1?arch=amd64&distro=debian-12"
    assert packages["thing"]["externalRefs"][0]["referenceLocator"] == "pkg:pypi/thing@1.0"
    assert [one["licenseId"] for one in document["hasExtractedLicensingInfos"]] == ["LicenseRef-debian-odd"]


def test_the_document_is_one_of_spdx(tmp_path: Path) -> None:
    document = listed(*some_parts(tmp_path))
    assert (document["spdxVersion"], document["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    ids = [one["SPDXID"] for one in document["packages"]]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids)
    related = {one["relatedSpdxElement"] for one in document["relationships"]}
    assert related == set(ids)
    assert document["creationInfo"]["created"] == WHEN


def test_the_same_image_has_the_same_list_and_another_one_another_name(tmp_path: Path) -> None:
    parts = some_parts(tmp_path)
    assert listed(*parts) == listed(*reversed(parts))
    changed = [replace(parts[0], sha256="0" * 64), *parts[1:]]
    assert listed(*parts)["documentNamespace"] != listed(*changed)["documentNamespace"]
