"""Licences of packages as SPDX writes them, as far as the packages say so in words that machines can read.

Nothing is guessed from prose: a package that does not name its licence in a form made for it is 'not asserted', and
its text is in the image all the same.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

NOT_ASSERTED: Final = "NOASSERTION"

_DEBIAN_NAMES: Final = {
    "apache-2.0": "Apache-2.0",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "bsd-4-clause": "BSD-4-Clause",
    "bsl-1.0": "BSL-1.0",
    "expat": "MIT",
    "gpl-1": "GPL-1.0-only",
    "gpl-1+": "GPL-1.0-or-later",
    "gpl-2": "GPL-2.0-only",
    "gpl-2+": "GPL-2.0-or-later",
    "gpl-3": "GPL-3.0-only",
    "gpl-3+": "GPL-3.0-or-later",
    "isc": "ISC",
    "lgpl-2": "LGPL-2.0-only",
    "lgpl-2+": "LGPL-2.0-or-later",
    "lgpl-2.1": "LGPL-2.1-only",
    "lgpl-2.1+": "LGPL-2.1-or-later",
    "lgpl-3": "LGPL-3.0-only",
    "lgpl-3+": "LGPL-3.0-or-later",
    "mit": "MIT",
    "mpl-2.0": "MPL-2.0",
    "zlib": "Zlib",
}
_CLASSIFIERS: Final = {
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_TRADITIONAL: Final = {
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "BSD 3-Clause": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
}
_JOINT: Final = re.compile(r"\s+(and/or|and|or)\s+|,\s*(?:(and|or)\s+)?", re.IGNORECASE)


def of_debian(copyright_text: str) -> str:
    """The licences a Debian copyright file names, all of them together; names SPDX lacks become references."""
    first, _, _ = copyright_text.partition("\n")
    if not first.startswith("Format:"):
        return NOT_ASSERTED
    named = re.findall(r"^License:[ \t]*(\S.*)$", copyright_text, re.MULTILINE)
    found = sorted({_debian_expression(one.strip()) for one in named})
    return _checked(" AND ".join(f"({one})" if " OR " in one and len(found) > 1 else one for one in found))


def of_wheel(metadata: Mapping[str, Sequence[str]]) -> str:
    """The licence of a wheel: its expression, or an older field whose meaning is beyond doubt."""
    for expression in metadata.get("License-Expression", ()):
        return _checked(expression)
    for text in metadata.get("License", ()):
        known = _checked(_TRADITIONAL.get(text.strip(), text.strip()))
        if known != NOT_ASSERTED:
            return known
    prefix = "License :: OSI Approved :: "
    classified = [
        text.removeprefix(prefix) for text in metadata.get("Classifier", ()) if text.startswith(prefix)
    ]
    known = [_CLASSIFIERS[text] for text in classified if text in _CLASSIFIERS]
    return _checked(" AND ".join(sorted(known))) if known and len(known) == len(classified) else NOT_ASSERTED


def references(expression: str) -> list[str]:
    """The names in an expression that SPDX does not know, which a document must explain."""
    return sorted(set(re.findall(r"LicenseRef-[A-Za-z0-9.-]+", expression)))


def _debian_expression(text: str) -> str:
    """`GPL-2+ or Expat` and the like. An exception, or anything else unusual, makes the whole a reference."""
    if " with " in text.lower():
        return _reference(text)
    parts = [part for part in _JOINT.split(text) if part]
    words = {part.lower() for part in parts} & {"and", "or", "and/or"}
    names = [
        _DEBIAN_NAMES.get(part.lower(), "") or _reference(part) for part in parts if part.lower() not in words
    ]
    if len(names) > 1 and len(words) != 1:
        return _reference(text)
    return (" AND " if words == {"and"} else " OR ").join(names)


def _reference(name: str) -> str:
    return f"LicenseRef-debian-{re.sub(r'[^A-Za-z0-9.]+', '-', name).strip('-')}"


def _checked(expression: str) -> str:
    try:
        return str(canonicalize_license_expression(expression))
    except InvalidLicenseExpression:
        return NOT_ASSERTED
