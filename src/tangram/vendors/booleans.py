"""Yes or no as Go's `strconv.ParseBool` reads it, which is how the peers read their annotations.

The peers ignore a text they cannot parse; the person who wrote it believes that it took effect. Here it is refused.
"""

from collections.abc import Mapping

from tangram.model.refusals import Refusal
from tangram.vendors.codes import Code
from tangram.vendors.wording import annotated, sentence

_BOOLEANS = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)


def go_boolean(annotations: Mapping[str, str], key: str) -> bool | Refusal | None:
    """What the annotation says, `None` when it is not there."""
    text = annotations.get(key)
    if text is None:
        return None
    if text not in _BOOLEANS:
        return Refusal(
            Code.NOT_A_BOOLEAN,
            sentence(
                annotated(key, text),
                "it is one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False",
                "write true or false, or remove it",
            ),
        )
    return _BOOLEANS[text]
