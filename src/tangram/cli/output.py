"""`-o`: the same answer for people or for programs."""

from __future__ import annotations

import sys
from enum import StrEnum

import msgspec
import yaml

from tangram.cli.failures import InputError
from tangram.vendors.wording import either


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def read_format(word: str) -> Format:
    """The format of that name."""
    try:
        return Format(word)
    except ValueError:
        raise InputError(f"-o is {word!r:.80}: it is {either(Format)}; write one of these.") from None


def write_data(answer: msgspec.Struct, form: Format) -> None:
    """The answer on standard output. Equal answers give equal bytes: fields keep their order and no clock is read."""
    if form is Format.JSON:
        text = msgspec.json.format(msgspec.json.encode(answer), indent=2).decode() + "\n"
    else:
        plain = msgspec.to_builtins(answer, str_keys=True)
        text = yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=1000)
    sys.stdout.write(text)
