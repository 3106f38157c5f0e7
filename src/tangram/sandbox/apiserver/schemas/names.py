"""What a group and the names of a defined kind may look like, and what is said of those that do not.

`rules.wording` says the same of objects' names; rules are built on schemas, so the two sentences needed here are here.
"""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_PART: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_PART}(\.{_PART})*"


def label_faults(text: str) -> str:
    """What is wrong with a DNS label that must begin with a letter; empty for a good one."""
    said = ["must be no more than 63 characters"] if len(text) > 63 else []
    if not re.fullmatch(_LABEL, text):
        said.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
            f"validation is '{_LABEL}')"
        )
    return ",".join(said)


def subdomain_faults(text: str) -> str:
    """What is wrong with a DNS subdomain; empty for a good one."""
    said = ["must be no more than 253 characters"] if len(text) > 253 else []
    if not re.fullmatch(_SUBDOMAIN, text):
        said.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            f"'{_SUBDOMAIN}')"
        )
    return ",".join(said)
