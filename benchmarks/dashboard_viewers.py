"""People who look at the dashboard, without a browser: they sign in, open pages, and listen as the page's script does.

Each has an account and a session of its own. Most see everything; some see nodes and the pods of a namespace, some
only the nodes on which pods of theirs sit. Told that a page is another, they fetch it again, one at a time and with
the script's pause, since that is what browsers cost a server.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from urllib.parse import quote

import aiohttp

from dashboard_bed import Bed, BenchError
from dashboard_cluster import NAMESPACES

PAUSE_S: Final = 0.4
"""Between two fetches of a page, as in live.js."""
PAGES: Final = ("/pods", "/explain", "/fragmentation", "/health", "/usage", "/usage.csv", "/nodes/gpu-00007")
NOT_THEIRS: Final = (403, 404)
"""How pages answer that somebody may not see."""
_TOKEN: Final = re.compile(r'name="form_token" value="([0-9a-f]+)"')
_STAMP: Final = re.compile(r'data-stamp="([^"]*)"')


class Person(NamedTuple):
    name: str
    token: str
    page: str
    """What they look at."""


async def people(bed: Bed, count: int) -> list[Person]:
    """Of ten, six see everything, two see nodes and one namespace, and two see one namespace alone."""
    found: list[Person] = []
    for number in range(count):
        name, home = f"viewer-{number:02d}", NAMESPACES[number % len(NAMESPACES)]
        turn = number % 10
        if turn < 6:
            token = await bed.person(name, "cluster-admin")
        else:
            token = await bed.person(name, "view", namespace=home, nodes=turn < 8)
        # One looks at who waits, one at a node; everybody else at the cluster.
        page = {3: "/pods", 5: "/nodes/gpu-00007"}.get(turn, "/")
        found.append(Person(name, token, page))
    return found


class Viewer:
    """One open page."""

    def __init__(self, http: aiohttp.ClientSession, url: str, person: Person) -> None:
        self.person = person
        self.events = 0
        self.bytes = 0
        self.fetches = 0
        self.faults: list[str] = []
        self._http = http
        self._url = url
        self._stamp = ""
        self._again = asyncio.Event()

    async def arrive(self, pages: Sequence[str] = PAGES) -> None:
        """Sign in, look around, and open the page that is looked at."""
        form = await self._get("/sign-in")
        found = _TOKEN.search(form)
        if found is None:
            raise BenchError("the page to sign in has no form")
        fields = {"form_token": found[1], "token": self.person.token, "back": "/"}
        async with self._http.post(
            f"{self._url}/sign-in", data=fields, headers={"Origin": self._url}, allow_redirects=False
        ) as answer:
            if answer.status != 303:
                raise BenchError(f"{self.person.name} could not sign in: {answer.status}")
        for page in pages:
            await self._get(page)
        stamp = _STAMP.search(await self._get(self.person.page))
        self._stamp = stamp[1] if stamp else ""
        if self.person.page == "/":
            await self._get("/cluster.json")

    async def listen(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as together:
            together.create_task(self._fetching())
            together.create_task(self._hearing())

    async def _hearing(self) -> None:
        query = f"page={quote(self.person.page, safe='')}&since={quote(self._stamp, safe='')}"
        async with self._http.get(f"{self._url}/events?{query}") as stream:
            if stream.status != 200:
                self.faults.append(f"{self.person.name} was not let listen: {stream.status}")
                return
            async for line in stream.content:
                self.bytes += len(line)
                if line.startswith(b"event: "):
                    self.events += 1
                if line.startswith((b"event: changed", b"event: again")):
                    self._again.set()
                if line.startswith(b"event: ended"):
                    break
        self.faults.append(f"the stream of {self.person.name} ended")

    async def _fetching(self) -> None:
        while True:
            await self._again.wait()
            self._again.clear()
            await self._get(self.person.page, {"X-Fragment": "main"})
            self.fetches += 1
            await asyncio.sleep(PAUSE_S)

    async def _get(self, path: str, headers: dict[str, str] | None = None) -> str:
        async with self._http.get(f"{self._url}{path}", headers=headers) as answer:
            text = await answer.text()
            if answer.status >= 400 and answer.status not in NOT_THEIRS:
                self.faults.append(f"{path} answered {answer.status} to {self.person.name}")
            return text


@asynccontextmanager
async def looking(bed: Bed, persons: Sequence[Person]) -> AsyncGenerator[list[Viewer]]:
    """All of them with their pages open."""
    limit = aiohttp.ClientTimeout(total=None, sock_connect=30)
    sessions = [
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True), timeout=limit) for _ in persons
    ]
    viewers = [Viewer(http, bed.url, person) for http, person in zip(sessions, persons, strict=True)]
    listening: list[asyncio.Task[None]] = []
    try:
        for viewer in viewers:
            await viewer.arrive()
        listening = [asyncio.create_task(viewer.listen()) for viewer in viewers]
        yield viewers
    finally:
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
        for http in sessions:
            await http.close()
