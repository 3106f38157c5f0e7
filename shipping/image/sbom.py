"""The list of everything in an image, as SPDX 2.3: names, versions, origins, licences and digests.

It is made from what was unpacked, not from what was asked for, so it cannot disagree with the image. Times and names
come from the inputs: the same image has the same list, byte for byte.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from shipping.image import licences
from shipping.image.debs import Deb
from shipping.image.licences import NOT_ASSERTED, references
from shipping.image.platforms import Platform
from shipping.image.wheels import Wheel

PLACE_IN_IMAGE: Final = "usr/share/doc/tangram/sbom.spdx.json"


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One package in the image."""

    kind: str
    """deb, pypi, golang, or generic for a program of ours."""
    name: str
    version: str
    sha256: str
    """Of the archive or file it came in; empty for what is only a part of one."""
    licence: str
    supplier: str
    purl: str


def part_of_deb(deb: Deb, everything: Mapping[str, Deb]) -> Part:
    """A Debian package; its licence may be in the folder of another one of the same source."""
    text = deb.copyright or next(
        (everything[name].copyright for name in _pointed_to(deb) if name in everything), ""
    )
    version = quote(deb.version, safe=".~+-").replace("+", "%2B")
    return Part(
        kind="deb",
        name=deb.name,
        version=deb.version,
        sha256=deb.sha256,
        licence=licences.of_debian(text),
        supplier="Organization: Debian",
        purl=f"pkg:deb/debian/{quote(deb.name, safe='.-')}@{version}?arch={deb.architecture}&distro=debian-12",
    )


def part_of_wheel(wheel: Wheel) -> Part:
    """A Python distribution."""
    return Part(
        kind="pypi",
        name=wheel.name,
        version=wheel.version,
        sha256=wheel.sha256,
        licence=licences.of_wheel(wheel.metadata),
        # Whoever uploaded it to the index; a wheel names its authors, which may be others.
        supplier=NOT_ASSERTED,
        purl=f"pkg:pypi/{wheel.name}@{quote(wheel.version, safe='.-').replace('+', '%2B')}",
    )


def spdx_document(version: str, platform: Platform, parts: Sequence[Part], created: str) -> bytes:
    """The document for one platform's image."""
    name = f"tangram-{version}-linux-{platform.name}"
    ordered = sorted(parts)
    contents = "\n".join(f"{part.purl} {part.sha256}" for part in ordered)
    image: dict[str, Any] = {
        "SPDXID": "SPDXRef-Image",
        "name": "tangram",
        "versionInfo": version,
        "downloadLocation": NOT_ASSERTED,
        "filesAnalyzed": False,
        "primaryPackagePurpose": "CONTAINER",
        "supplier": NOT_ASSERTED,
        "licenseConcluded": NOT_ASSERTED,
        "licenseDeclared": "Apache-2.0",
        "copyrightText": NOT_ASSERTED,
    }
    unknown = sorted({name for part in ordered for name in references(part.licence)})
    document: dict[str, Any] = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": _namespace(f"{name}\n{created}\n{contents}"),
        "creationInfo": {"created": created, "creators": [f"Tool: tangram-image-{version}"]},
        "packages": [image, *(_package(part) for part in ordered)],
        "relationships": [
            _relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Image"),
            *(_relation("SPDXRef-Image", "CONTAINS", _id(part)) for part in ordered),
        ],
    }
    if unknown:
        document["hasExtractedLicensingInfos"] = [
            {
                "licenseId": reference,
                "extractedText": f"The packages whose declared licence names {reference} have its text below "
                f"/usr/share/doc, in the file 'copyright' of their folder in the image.",
            }
            for reference in unknown
        ]
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _package(part: Part) -> dict[str, Any]:
    sums = [{"algorithm": "SHA256", "checksumValue": part.sha256}] if part.sha256 else []
    return {
        "SPDXID": _id(part),
        "name": part.name,
        "versionInfo": part.version,
        "supplier": part.supplier,
        "downloadLocation": NOT_ASSERTED,
        "filesAnalyzed": False,
        **({"checksums": sums} if sums else {}),
        "licenseConcluded": NOT_ASSERTED,
        "licenseDeclared": part.licence,
        "copyrightText": NOT_ASSERTED,
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": part.purl}
        ],
    }


def _relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def _id(part: Part) -> str:
    # `+` is no letter of an identifier, and g++ is not g.
    return f"SPDXRef-{part.kind}-{re.sub(r'[^A-Za-z0-9.]', '-', part.name.replace('+', 'plus'))}"


def _namespace(inputs: str) -> str:
    return f"urn:uuid:{uuid.UUID(bytes=hashlib.sha256(inputs.encode()).digest()[:16], version=5)}"


def _pointed_to(deb: Deb) -> list[str]:
    found = deb.files.get(f"usr/share/doc/{deb.name}")
    target = getattr(found, "target", "")
    return [target.rpartition("/")[2]] if target else []
