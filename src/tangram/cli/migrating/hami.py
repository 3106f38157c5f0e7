"""`tangram migrate hami`: the values of HAMi's Helm release as values of ours.

What is printed on standard output can go straight into `helm install -f -`, so everything that is for people alone
goes to standard error, and nothing is printed there that a comment beside a value says already.
"""

from __future__ import annotations

import re
import sys
from typing import Annotated, Final

import msgspec
import yaml
from cyclopts import Parameter

from tangram.cli.documents import read_documents
from tangram.cli.failures import InputError
from tangram.cli.files import Source, read_source
from tangram.cli.migrating.values_file import told, values_text
from tangram.cli.output import Format, write_data
from tangram.cli.plain import clean
from tangram.daemon.yaml_text import UnreadableYaml, parse_document
from tangram.wire.errors import WireError
from tangram.wire.hami_values.reading import HamiValuesError
from tangram.wire.hami_values.rows import Note
from tangram.wire.hami_values.translating import translate

NOT_ALL_OF_IT: Final = 1
_FORMS: Final = (Format.YAML, Format.JSON)
_NOTHING_SET: Final = ("null", "~", "{}")
"""What `helm get values` prints of a release that was installed as it is."""
_HEADING: Final = re.compile(r"\A(\s*)(?=(?:USER-SUPPLIED|COMPUTED) VALUES:\s*$)", re.MULTILINE)
"""What it writes above them: no YAML where nothing follows. As a comment it leaves every line its number."""

ValuesOption = Annotated[
    str,
    Parameter(
        name="--values",
        metavar="FILE",
        allow_leading_hyphen=True,
        help="HAMi's values as YAML or JSON; - for standard input.",
    ),
]
FormOption = Annotated[
    str, Parameter(name=["--output", "-o"], metavar="FORMAT", help="yaml: a file of values; json: notes too.")
]


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for programs."""

    tangram: str = "migrate/v1"
    values: dict[str, object]
    notes: tuple[Note, ...]


def hami(*, values: ValuesOption, output: FormOption = "yaml") -> int:
    """Translate the values of HAMi's chart."""
    if output not in _FORMS:
        raise InputError(f"-o is {output!r:.80}: it is yaml or json; write one of these.")
    source = read_source(values, "--values")
    source = source._replace(text=_HEADING.sub(r"\1# ", source.text))
    try:
        translation = translate(_document(source), _parsed)
    except HamiValuesError as error:
        raise InputError(f"{source.name}{_line(source.text, error.key)}: {error.sentence}.") from None
    if output == Format.JSON:
        write_data(Migration(values=translation.values, notes=translation.notes), Format.JSON)
    else:
        sys.stdout.write(values_text(translation))
        sys.stderr.write(clean(told(translation.notes)))
    return 0 if translation.complete else NOT_ALL_OF_IT


def _document(source: Source) -> object:
    written = "\n".join(line for line in source.text.splitlines() if not line.lstrip().startswith("#"))
    if written.strip() in _NOTHING_SET:
        return None
    documents = read_documents(source, lambda _done, _all: None)
    if len(documents) > 1:
        raise InputError(
            f"{source.name} holds {len(documents)} documents: the values of one release are one; give that one alone."
        )
    return documents[0]


def _parsed(text: str) -> object:
    try:
        return parse_document(text)
    except UnreadableYaml as error:
        raise WireError("yaml-unreadable", str(error)) from None


def _line(text: str, key: str) -> str:
    """Where a value stands, if it can be found."""
    if not key:
        return ""
    try:
        root = yaml.CSafeLoader(text).get_single_node()
    except yaml.YAMLError:
        return ""
    line = _line_under(root, key.partition(" ")[0])
    return "" if line is None else f" line {line}"


def _line_under(node: yaml.Node | None, path: str) -> int | None:
    """The line of a value that is written nested, dotted, or some of both."""
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value == path:
            return key.start_mark.line + 1
        if path.startswith(f"{key.value}."):
            line = _line_under(value, path.removeprefix(f"{key.value}."))
            if line is not None:
                return line
    return None
