"""The cases of the contract on a real kube-apiserver: what it says today is what is recorded, and what ours says."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from contract.case import Case
from contract.differences import DIFFERENCES
from contract.embedded import embedded_server
from contract.recorded import RECORD, read_record, write_record
from contract.running import all_cases, observe
from contract.world import Server
from e2e.contract_kit import real_server
from testbed.cluster import Cluster
from testbed.options import Options

CASES = all_cases()
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Both:
    """What every case saw; an exception in place of what it could not see."""

    real: dict[str, Any]
    ours: dict[str, Any]


async def _all(server: Server, at_once: int) -> dict[str, Any]:
    turn = asyncio.Semaphore(at_once)

    async def one(case: Case) -> object:
        async with turn:
            try:
                return await observe(server, case)
            except Exception as error:  # noqa: BLE001 - the case's own test tells it
                return error

    return dict(zip(CASES, await asyncio.gather(*(one(case) for case in CASES.values())), strict=True))


@pytest_asyncio.fixture(scope="module")
async def both() -> AsyncIterator[Both]:
    async with Cluster.open(Options(nodes=0)) as cluster, real_server(cluster) as server:
        real = await _all(server, AT_ONCE)
    async with embedded_server() as server:
        ours = await _all(server, 1)
    if os.environ.get(RECORD) == "1":
        broken = [name for name, seen in real.items() if isinstance(seen, Exception)]
        assert broken == [], "cases that saw nothing cannot be recorded"
        write_record(real)
    yield Both(real, ours)


@pytest.mark.parametrize("name", CASES)
def test_the_real_server_says_what_is_recorded(both: Both, name: str) -> None:
    assert both.real[name] == read_record()[name]


@pytest.mark.parametrize("name", CASES)
def test_the_embedded_server_agrees_with_the_real_one_or_is_known_to_differ(both: Both, name: str) -> None:
    assert (both.ours[name] == both.real[name]) == (name not in DIFFERENCES)
