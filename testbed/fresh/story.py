"""What a newcomer does with README on a bare Debian, in the order of the page.

Prerequisites as root; `make sandbox` and what README shows of it without kubectl; Ctrl-C; a sandbox that tells a story;
the whole page again with kubectl; `make test`. Every act that does not end as README says is a `BedError`.
"""

import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shipping.image.cachefolder import cache_folder as image_cache
from testbed.building import build
from testbed.cachefolder import cache_folder as bed_cache
from testbed.consoles import Shell, Step, differing, played
from testbed.errors import BedError
from testbed.fresh.machine import run_as_machine
from testbed.fresh.person import Person
from testbed.fresh.readme import Guide
from testbed.fresh.terminal import Say, Terminal
from testbed.parts import read_components
from testbed.toolchain import find_go

SMOKE: Final = "make e2e-smoke"
STATUS: Final = "tangram status"
KUBECTL: Final = "kubectl-1.28"
"""The oldest release that README promises to serve."""
_KUBECTL_FOLDER: Final = "/opt/kubectl"
_READY: Final = "Ctrl-C stops the sandbox"
_STORY_ENDS: Final = "Look at it in another shell"
_DASHBOARD: Final = re.compile(r"^Dashboard +(http://\S+)", re.MULTILINE)
_INTERRUPTED: Final = 130
_SETUP_S: Final = 900.0
"""Most of it is fetching packages."""
_START_S: Final = 180.0


async def sandbox_without_kubectl(person: Person, guide: Guide, say: Say) -> None:
    """The first minute of the page, and a story, on a machine that has no kubectl."""
    async with person.terminal(say) as terminal:
        welcome = await _sandbox(terminal, guide.sandbox, _SETUP_S)
        async with person.second_shell() as second:
            found = await second.type("command -v kubectl")
            if found.status == 0:
                raise BedError(
                    f"The bare Debian has {found.text.strip()}, and this is the act without kubectl."
                )
            await _reads(second, guide.without_kubectl, say)
            await _shows_the_cluster(second)
        _dashboard_answers(welcome)
        _ended(guide.sandbox, await terminal.interrupt())
        await _sandbox(terminal, guide.story, _START_S)
        told = await terminal.until(_STORY_ENDS, _START_S)
        if "✗" in told or "✓" not in told:
            raise BedError(f"`{guide.story}` did not tell its story:\n{told}")
        _ended(guide.story, await terminal.interrupt())


async def sandbox_with_kubectl(person: Person, guide: Guide, say: Say) -> None:
    """Every command of the page, by one reader from the top to the bottom."""
    programs = person.root / _KUBECTL_FOLDER.lstrip("/")
    programs.mkdir(parents=True, exist_ok=True)
    shutil.copy2(_kubectl(), programs / "kubectl")
    async with person.terminal(say) as terminal:
        await _sandbox(terminal, guide.sandbox, _START_S)
        async with person.second_shell(_KUBECTL_FOLDER) as second:
            await _reads(second, guide.with_kubectl, say)
        _ended(guide.sandbox, await terminal.interrupt())
    shutil.rmtree(programs)


def tests_pass(person: Person, guide: Guide) -> None:
    """`make test`; its output is this process's."""
    command = person.command("/bin/bash", "-c", guide.tests)
    status = subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode  # noqa: S603 - README's
    if status != 0:
        raise BedError(f"`{guide.tests}` ended with status {status} on a Debian with README's packages.")


def smoke_passes(person: Person) -> None:
    """`make e2e-smoke` by root, with this machine's Go and caches: everything else it must install by itself."""
    go = find_go(component.go for component in read_components()).program.resolve().parents[1]
    caches = {"TANGRAM_TESTBED_CACHE": bed_cache(), "TANGRAM_IMAGE_CACHE": image_cache()}
    for folder in caches.values():
        folder.mkdir(parents=True, exist_ok=True)
    variables = {**person.environment, **{name: str(path) for name, path in caches.items()}}
    line = f"git config --global --add safe.directory '*' && PATH={go}/bin:$PATH {SMOKE}"
    status = run_as_machine(person.root, line, variables, (go, *caches.values()))
    if status != 0:
        raise BedError(f"`{SMOKE}` ended with status {status} on a Debian with README's packages and Go.")


async def _sandbox(terminal: Terminal, command: str, within: float) -> str:
    """Start it; what it printed until it was ready."""
    await terminal.start(command)
    return await terminal.until(_READY, within)


def _ended(command: str, status: int) -> None:
    """`make` reports an interrupted recipe by status 2 or 130; the program itself ends well."""
    if status not in {0, 2, _INTERRUPTED}:
        raise BedError(f"`{command}` ended with status {status} after Ctrl-C.")


async def _reads(second: Shell, page: Sequence[Sequence[Step]], say: Say) -> None:
    began = time.monotonic()
    for block in page:
        other = differing(block, await played(second, block))
        if other:
            told = "\n".join(f"$ {line}\n--- shown\n{shown}--- printed\n{now}" for line, shown, now in other)
            raise BedError(f"README.md shows something else than its commands print:\n{told}")
    count = sum(len(block) for block in page)
    say(f"{count} commands of README.md printed what it shows ({time.monotonic() - began:.0f} s).")


async def _shows_the_cluster(shell: Shell) -> None:
    """README promises `tangram status` to people without kubectl; the second shell has the settings of the page."""
    printed = await shell.type(STATUS)
    if printed.status != 0 or "cards" not in printed.text:
        raise BedError(f"`{STATUS}` ended with status {printed.status}:\n{printed.text}")


def _dashboard_answers(welcome: str) -> None:
    found = _DASHBOARD.search(welcome)
    if found is None:
        raise BedError(f"The sandbox printed no address of its dashboard:\n{welcome}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(found[1], timeout=30) as page:  # a loopback address that the sandbox printed
        if page.status != 200 or b"Tangram" not in page.read():
            raise BedError(f"The dashboard at {found[1]} answers {page.status}.")


def _kubectl() -> Path:
    return build(components=[each for each in read_components() if each.name == KUBECTL]).path(KUBECTL)
