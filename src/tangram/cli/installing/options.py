"""What both commands have in common: which nodes, which namespace, and how they are told."""

from __future__ import annotations

from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli import candidates
from tangram.cli.failures import InputError
from tangram.services.installation.asking import Told
from tangram.units.ids import IdError
from tangram.units.ids import namespace as read_name

SOMETHING_FAILS: Final = 1
MALFORMED: Final = 400

SelectorOption = Annotated[
    str,
    Parameter(
        name=["--selector", "-l"],
        metavar="LABELS",
        show_default=False,
        help="The nodes that Tangram is for, as kubectl's -l takes them; without, all that may have cards.",
    ),
]
HomeOption = Annotated[
    str,
    Parameter(
        name=["--namespace", "-n"],
        metavar="NAMESPACE",
        completer=candidates.namespaces,
        help="Where Tangram is, or is to be, installed.",
    ),
]


def read_namespace(text: str, option: str) -> str:
    """A name that a namespace can have."""
    try:
        return read_name(text)
    except IdError as error:
        raise InputError(f"{option}: {error}.") from None


def check_selector(selector: str, nodes: Told) -> None:
    """A selector that the API server could not read is a fault of the command line."""
    if selector and nodes.status == MALFORMED:
        raise InputError(
            f"-l is {selector!r:.120}, which the API server cannot read ({nodes.message:.200}): write labels as "
            "kubectl's -l takes them, such as gpu=true or 'zone in (a,b)'."
        )
