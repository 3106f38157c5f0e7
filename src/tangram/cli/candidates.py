"""Names that could come next on a command line, asked of the live cluster while somebody presses Tab.

An answer that is late or fails is no answer: the shell offers nothing, and nobody is told why in the middle of a line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tangram.cli.failures import InputError
from tangram.cli.output import Format

LIMIT_S: Final = 2.0
MOST: Final = "500"

Context = Any
"""The parser's account of the words so far, of which only `get(NAME).raw` is used."""


def formats(_context: Context) -> Sequence[str]:
    """The words of -o."""
    return tuple(Format)


def nodes(context: Context) -> Sequence[str]:
    """Nodes of the live cluster."""
    return _names(context, lambda _namespace: "/api/v1/nodes")


def namespaces(context: Context) -> Sequence[str]:
    """Namespaces of the live cluster."""
    return _names(context, lambda _namespace: "/api/v1/namespaces")


def pods(context: Context) -> Sequence[str]:
    """Pods of the namespace that is named on the line, or else of the kubeconfig's."""
    written = _written(context, "--namespace")
    return _names(context, lambda usual: f"/api/v1/namespaces/{written or usual}/pods")


def _names(context: Context, path: Callable[[str], str]) -> Sequence[str]:
    if _written(context, "--cluster"):
        # A file is asked about, and what is in it is not read for a Tab.
        return ()
    # Imported here, as everything that speaks to a network: a daemon starts without.
    import asyncio  # noqa: PLC0415 - see above

    from tangram.cli.agents.options import connection_for  # noqa: PLC0415 - see above
    from tangram.kube.api import Api  # noqa: PLC0415 - see above
    from tangram.kube.errors import ApiError, ApiUnreachable  # noqa: PLC0415 - see above
    from tangram.wire import loose  # noqa: PLC0415 - see above

    kubeconfig = _written(context, "--kubeconfig")

    async def listed() -> Sequence[str]:
        connection = connection_for(Path(kubeconfig) if kubeconfig else None, os.environ)
        async with Api(connection, limit=LIMIT_S) as api:
            answer = await api.get(path(connection.namespace), limit=MOST)
        items = [loose.members(item) for item in loose.elements(answer.get("items"))]
        names = [loose.text(loose.members(item.get("metadata")).get("name")) for item in items]
        return tuple(filter(None, names))

    try:
        return asyncio.run(listed())
    except (InputError, ApiError, ApiUnreachable):
        return ()


def _written(context: Context, option: str) -> str:
    argument = context.get(option)
    return (argument.raw or "") if argument is not None else ""
