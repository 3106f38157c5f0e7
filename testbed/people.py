"""What the commands of `testbed` do: clusters that stay, found again by their files."""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from testbed import cgroups, leftovers, watchers
from testbed.binaries import find_binaries
from testbed.box import ENVIRONMENT, Box, end_janitor, refuse_unfit_machine, start_janitor
from testbed.cluster import Cluster, client_environment
from testbed.errors import BedError
from testbed.options import Options
from testbed.places import ClusterFolder, state_root

END_LIMIT = 60.0

Summary = dict[str, Any]


def read_fields(file: Path | None) -> Summary:
    """The fields of a JSON file, for a component's configuration."""
    if file is None:
        return {}
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BedError(f"'{file}' cannot be read ({error.strerror}): name a JSON file") from None
    except ValueError as error:
        raise BedError(f"'{file}' is not JSON ({error}): write the fields as one JSON object") from None
    if not isinstance(fields, dict):
        raise BedError(f"'{file}' holds {type(fields).__name__}, not one JSON object with fields")
    return cast("Summary", fields)


async def start(options: Options, *, say: Callable[[str], None]) -> str:
    """Start a cluster that outlives this process, and give it a name. Interrupted or failed, it leaves nothing."""
    refuse_unfit_machine()
    leftovers.sweep(state_root())
    folder = ClusterFolder(state_root(), secrets.token_hex(3))
    keeper = await start_janitor(folder, watchers=watchers.needed(options.nodes), stay=True)
    try:
        box = await Box.join(folder)
        async with Cluster.start_in(box, options, say=say):
            pass
    except BaseException:
        keeper.terminate()
        await end_janitor(keeper)
        raise
    # It stays after us on purpose; without this Python would warn that it was forgotten.
    keeper.returncode = 0
    return folder.name


def survey() -> list[Summary]:
    """Every cluster of this machine, after clearing away dead ones (named with "cleared": true)."""
    root = state_root()
    cleared = leftovers.sweep(root) if os.geteuid() == 0 else ()
    gone = [{"name": name, "cleared": True} for name in cleared]
    return [*(describe(found.folder.name) for found in leftovers.clusters(root) if found.alive), *gone]


def describe(name: str) -> Summary:
    """One running cluster in figures."""
    folder = ClusterFolder(state_root(), name)
    facts = _facts(folder)
    programs = asyncio.run(_programs(folder)) if facts else []
    return {
        "name": name,
        "cleared": False,
        "stays": bool(facts.get("stays")),
        "nodes": sorted(facts.get("networks", {})),
        "kubeconfig": str(folder.admin_kubeconfig),
        "folder": str(folder.path),
        "processes": len({pid for branch in cgroups.branches(name) for pid in cgroups.members(branch)}),
        "memory_mib": round(cgroups.memory(name) / 2**20),
        "programs": programs,
    }


def survey_lines(found: Sequence[Summary]) -> Iterator[str]:
    """The survey for people."""
    if not found:
        yield "No cluster runs, and nothing was left behind."
    for one in found:
        if one["cleared"]:
            yield f"{one['name']}  was left behind by something that was killed; it is cleared away now"
            continue
        kind = "stays until 'testbed down'" if one["stays"] else "belongs to a running test"
        size = f"{one['processes']} processes, {one['memory_mib']} MiB"
        yield f"{one['name']}  {kind}; {size}; nodes: {', '.join(one['nodes']) or 'none'}"
        for program in one["programs"]:
            state = "runs" if program["status"] is None else f"ended with status {program['status']}"
            yield f"  {program['name']:<26} {state}"


def end(name: str, *, every: bool) -> Iterator[str]:
    """End clusters that stay, and wait until nothing is left of them."""
    staying = [
        found.folder
        for found in leftovers.clusters(state_root())
        if found.alive and _facts(found.folder).get("stays")
    ]
    for folder in staying if every else [_chosen(name, staying)]:
        os.kill(_facts(folder)["janitor"], signal.SIGTERM)
        deadline = time.monotonic() + END_LIMIT
        while folder.path.exists():
            if time.monotonic() > deadline:
                raise BedError(
                    f"cluster '{folder.name}' is still there after {END_LIMIT:g} s: 'testbed status' shows what runs"
                )
            time.sleep(0.05)
        yield folder.name


def log_text(component: str, name: str, tail: int) -> str:
    """What a component printed, or the names of those that printed something."""
    if tail < 0:
        raise BedError(f"--tail {tail} is not a number of lines: give 0 for all, or how many")
    logs = _running(name).logs
    known = sorted(path.stem for path in logs.glob("*.log"))
    if not component:
        return "".join(f"{one}\n" for one in known)
    if component not in known:
        raise BedError(f"there is no log of '{component}'; there are {', '.join(known)}")
    lines = (
        (logs / f"{component}.log").read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    )
    return "".join(lines[-tail:] if tail else lines)


def open_shell(name: str, command: str, *, say: Callable[[str], None]) -> int:
    """A shell in the cluster's network. Without any cluster one is started first, and ended when the shell ends."""
    refuse_unfit_machine()
    running = [found for found in leftovers.clusters(state_root()) if found.alive]
    if running or name:
        return _shell_in(_running(name), command)
    started = asyncio.run(start(Options(), say=say))
    try:
        return _shell_in(ClusterFolder(state_root(), started), command)
    finally:
        list(end(started, every=False))


def _shell_in(folder: ClusterFolder, command: str) -> int:
    facts = _facts(folder)
    programs = find_binaries()
    folders = sorted({str(programs.path(program).parent) for program in programs.programs})
    environment = {
        **os.environ,
        **client_environment(folder),
        "PATH": ":".join([*folders, os.environ.get("PATH", ENVIRONMENT["PATH"])]),
    }
    interpreter = os.environ.get("SHELL", "/bin/sh")
    words = [
        "nsenter",
        f"--net=/proc/{facts['init']}/ns/net",
        "--",
        interpreter,
        *(["-c", command] if command else []),
    ]
    if not command:
        sys.stderr.write(
            f"This shell is in cluster {folder.name}: kubectl and helm speak to it. Leave with 'exit'.\n"
        )
    return subprocess.run(words, env=environment, check=False).returncode  # noqa: S603 - the person's own shell


def _running(name: str) -> ClusterFolder:
    return _chosen(name, [found.folder for found in leftovers.clusters(state_root()) if found.alive])


def _chosen(name: str, running: Sequence[ClusterFolder]) -> ClusterFolder:
    names = ", ".join(folder.name for folder in running)
    if not running:
        raise BedError("no cluster runs: start one with 'testbed up'")
    if name:
        for folder in running:
            if folder.name == name:
                return folder
        raise BedError(f"there is no cluster '{name}'; there are: {names}")
    if len(running) > 1:
        raise BedError(f"several clusters run ({names}): say which")
    return running[0]


def _facts(folder: ClusterFolder) -> Summary:
    try:
        return json.loads(folder.facts.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return {}


async def _programs(folder: ClusterFolder) -> list[Summary]:
    try:
        return await (await Box.join(folder)).programs()
    except (OSError, BedError):
        return []  # it is just ending
