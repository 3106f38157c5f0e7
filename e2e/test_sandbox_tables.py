"""The embedded API server's tables and discovery documents beside those of the real one, for the same objects."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from builders.table_cases import comparing, documents
from builders.table_cases.specimens import all_kinds, folder_of
from e2e import tables_kit
from e2e.scheduling_kit import refusal
from tangram.sandbox.apiserver.discovery import version_info
from tangram.sandbox.apiserver.printing import as_table
from tangram.sandbox.apiserver.refusals import Refused
from testbed.cluster import Cluster
from testbed.options import Options


@pytest_asyncio.fixture(scope="module")
async def furnished() -> AsyncIterator[Cluster]:
    """A control plane that nothing changes by itself, with an object of every kind in every state."""
    async with Cluster.open(Options(nodes=0, controllers=False)) as running:
        await tables_kit.make_all(running.api)
        yield running


async def test_every_kind_is_printed_as_the_real_server_prints_it(furnished: Cluster) -> None:
    answers = [*await tables_kit.tables(furnished.api), *await tables_kit.special_tables(furnished.api)]
    if os.environ.get("RECORD"):
        comparing.record(answers)
    told = [f"{answer.kind}: {found}" for answer in answers for found in comparing.differences(answer)]
    assert not told, "\n" + "\n".join(told)


async def test_a_table_that_includes_what_nobody_knows_is_refused_in_the_same_words(
    furnished: Cluster,
) -> None:
    kind = all_kinds()[0]
    theirs = await refusal(
        furnished.api.call("GET", folder_of(kind), accept=tables_kit.TABLE, includeObject="Nothing")
    )
    with pytest.raises(Refused) as ours:
        as_table(kind, [], now=datetime.now(UTC), include="Nothing")
    assert ours.value.status() == theirs.answer


async def test_discovery_says_what_the_real_server_says_of_the_kinds_served(furnished: Cluster) -> None:
    found = await tables_kit.documents(furnished.api)
    if os.environ.get("RECORD"):
        documents.record(found)
    told = [documents.difference(path, theirs) for path, theirs in found.items()]
    assert not any(told), "\n".join(filter(None, told))


async def test_the_version_is_the_real_servers_with_our_mark_behind_it(furnished: Cluster) -> None:
    theirs, ours = await furnished.api.get("/version"), version_info()
    assert ours["gitVersion"] == theirs["gitVersion"] + "+tangram-sandbox"
    for field in ("major", "minor", "platform"):
        assert ours[field] == theirs[field]
    assert ours.keys() <= theirs.keys()
