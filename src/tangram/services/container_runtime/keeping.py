"""Runtime `metax` brought to this host, kept there, and taken away again.

One step after another, each of which may be the last before a crash: what is on the disk then tells what is left to do.
The order is always the same. The program first, because a configuration that names a missing one starts no container;
then the engine's opinion of the new file, the old bytes and a note; then the file; then the engine reads it. When that
fails, the old file goes back and the engine reads that.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Final

import msgspec

from tangram.services.container_runtime.bringing import Bringing
from tangram.services.container_runtime.configs import (
    Config,
    CrioConfig,
    Desired,
    config_of,
    containers_of,
)
from tangram.services.container_runtime.engines import Engine, find_engine
from tangram.services.container_runtime.host import CHECKED, UNFINISHED, Host
from tangram.services.container_runtime.journal import ENTRY, Entry, Journal, Step, digest
from tangram.services.container_runtime.journal import FILES as JOURNAL_FILES
from tangram.services.container_runtime.programs import Programs
from tangram.services.container_runtime.restarting import Restarter, command_by_hand
from tangram.services.container_runtime.settings import CdiMode, EngineKind, Settings
from tangram.services.container_runtime.trouble import Code, Trouble, failure
from tangram.wire.cdi_support import cdi_passing
from tangram.wire.errors import WireError
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Phase, RuntimeState
from tangram.wire.runtime_config.docker import Was
from tangram.wire.runtime_config.wishes import Wish

AGAIN_S: Final = 600.0
"""After a change that failed: a restart of the engine is not tried again before."""
CDI: Final = "cdi"
WRAPPER: Final = "wrapper"
_GENERATED: Final = "/var/lib/rancher/"
"""k3s and RKE2 keep containerd's file there, and write it anew whenever they start."""
_EMPTY: Final = (b"", b"{}\n")

log = logging.getLogger("tangram.container_runtime")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the node reports of itself."""

    kubelet: str = ""
    runtime: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    state: RuntimeState
    changed: str = ""
    """What was done to the host, for an event; empty where nothing was."""


class Keeper:
    """Not for two threads at once."""

    def __init__(
        self,
        settings: Settings,
        host: Host,
        programs: Programs,
        restarter: Restarter,
        *,
        working: Callable[[RuntimeState], None] = lambda _state: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._host = host
        self._programs = programs
        self._restarter = restarter
        self._working = working
        self._clock = clock
        self._journal = Journal(host)
        self._bringing = Bringing(host, settings)
        self._not_before = clock()
        self._watched: tuple[str, ...] = ()

    def keep(self, facts: Facts) -> Outcome:
        """Have everything as it should be. Never raises for what is wrong with the host."""
        known = RuntimeState(phase=Phase.FAILED)
        try:
            engine = self._engine(facts)
            known = RuntimeState(phase=Phase.FAILED, engine=engine.kind, version=engine.version)
            config = config_of(engine, self._host, self._programs, self._settings)
            self._watched = config.files()
            self._sweep(config)
            current = self._host.read(config.path)
            way = self._way(engine, facts, current)
            known = msgspec.structs.replace(known, way=way)
            changed = self._kept(engine, config, current, known)
        except (Trouble, WireError, OSError, RecursionError) as error:
            return Outcome(state=failure(known, error))
        return Outcome(state=msgspec.structs.replace(known, phase=Phase.READY), changed=changed)

    def remove(self, facts: Facts) -> Outcome:
        """Have the host as it was before. Never raises for what is wrong with the host."""
        known = RuntimeState(phase=Phase.FAILED)
        try:
            entry = self._journal.read()
            engine = self._engine_then(entry, facts)
            changed = ""
            if engine is not None:
                known = RuntimeState(phase=Phase.FAILED, engine=engine.kind, version=engine.version)
                changed = self._undone(engine, entry)
            left = self._cleared()
        except (Trouble, WireError, OSError, RecursionError) as error:
            return Outcome(state=failure(known, error))
        return Outcome(
            state=msgspec.structs.replace(
                known, phase=Phase.REMOVED, code="in-use" if left else "", why=left
            ),
            changed=changed,
        )

    def signature(self) -> tuple[object, ...]:
        """Changes when anything does that was looked at; to see that is cheaper than to look at it all again."""
        return tuple(
            self._host.stamp(path) for path in (*self._watched, names.RUNTIME_PROGRAM, *JOURNAL_FILES)
        )

    # ---- keeping

    def _engine(self, facts: Facts) -> Engine:
        """While it restarts the kubelet does not know its version; what it was then still counts."""
        engine = find_engine(self._host, facts.runtime, self._settings.engine)
        if engine.version:
            return engine
        entry = self._journal.read()
        if entry is None or entry.engine is not engine.kind or not entry.version:
            raise Trouble(
                Code.VERSION_UNKNOWN,
                f"the kubelet has not told yet which version of {engine.kind} this node has (it says "
                f"{facts.runtime!r:.60}); it is waited for",
            )
        return Engine(kind=engine.kind, version=entry.version)

    def _sweep(self, config: Config) -> None:
        """What a crash left half done."""
        folder, _, name = config.path.rpartition("/")
        for path in (f"{config.path}{CHECKED}", f"{folder}/.{name}{UNFINISHED}"):
            self._host.remove(path)
        self._journal.sweep()

    def _way(self, engine: Engine, facts: Facts, current: bytes | None) -> str:
        mode = self._settings.cdi_mode
        if mode is CdiMode.ENV:
            return WRAPPER
        text = (
            current.decode("utf-8", "replace") if current and engine.kind is EngineKind.CONTAINERD else None
        )
        reported = f"{engine.kind}://{engine.version}"
        if cdi_passing(facts.kubelet, reported, text) != "off":
            return CDI
        if mode is CdiMode.CDI:
            raise Trouble(
                Code.CDI_NOT_READ,
                f"--cdi-mode is cdi, and {engine.kind} {engine.version or 'of an unknown version'} reads no CDI files "
                "as it is configured; set enable_cdi = true (containerd 1.7 and newer), or write --cdi-mode auto",
            )
        return WRAPPER

    def _kept(self, engine: Engine, config: Config, current: bytes | None, known: RuntimeState) -> str:
        wish = Wish(program=names.RUNTIME_PROGRAM, default=known.way == WRAPPER)
        entry = self._journal.read()
        if entry is not None and entry.path != config.path:
            self._left_behind(engine, entry)
            entry = None
        was = entry.was if entry is not None else Was()
        desired = config.wanted(current, wish, was)
        self._bringing.bring(desired.runtime)
        if current is not None and desired.content == current:
            return self._read_by_engine(engine, config, entry, current, was)
        if config.path.startswith(_GENERATED):
            raise _generated(config.path)
        self._check_pause(entry, desired)
        made = entry.made if entry is not None else self._host.first_missing(config.path)
        config.check(desired.content, wish)
        self._working(msgspec.structs.replace(known, phase=Phase.WORKING))
        entry = msgspec.structs.replace(self._noted(engine, config, entry, current, desired), made=made)
        self._journal.write(entry)
        self._host.write(config.path, desired.content)
        self._take_up(engine, config, entry)
        return f"runtime {names.RUNTIME_CLASS} is registered with {engine.kind} in {config.path}"

    def _read_by_engine(
        self, engine: Engine, config: Config, entry: Entry | None, current: bytes, was: Was
    ) -> str:
        """The file is as it should be; whether its engine has read it the journal tells."""
        if entry is None or entry.after != digest(current):
            if entry is not None and entry.step is Step.APPLIED:
                # Somebody edited other parts of it. What we would put back byte for byte is not what was there now.
                return ""
            clean = config.without(current, was)
            self._journal.keep(clean)
            owed = entry is not None
            entry = Entry(
                engine=engine.kind,
                version=engine.version,
                path=config.path,
                step=Step.APPLYING if owed else Step.APPLIED,
                existed=True,
                before=digest(clean),
                after=digest(current),
                was=was,
            )
            self._journal.write(entry)
        if entry.step is Step.APPLIED:
            return ""
        self._take_up(engine, config, entry)
        return f"{engine.kind} has read {config.path} with runtime {names.RUNTIME_CLASS}"

    def _check_pause(self, entry: Entry | None, desired: Desired) -> None:
        if (
            entry is not None
            and entry.step is Step.FAILED
            and entry.after == digest(desired.content)
            and self._clock() < self._not_before
        ):
            raise Trouble(entry.code, entry.why)

    def _noted(
        self, engine: Engine, config: Config, entry: Entry | None, current: bytes | None, desired: Desired
    ) -> Entry:
        clean = b"" if current is None else config.without(current, entry.was if entry else Was())
        made_by_us = entry is not None and not entry.existed and clean in _EMPTY
        self._journal.keep(clean)
        return Entry(
            engine=engine.kind,
            version=engine.version,
            path=config.path,
            step=Step.APPLYING,
            existed=current is not None and not made_by_us and (engine.kind is not EngineKind.CRIO),
            before=digest(clean),
            after=digest(desired.content),
            was=desired.was,
        )

    def _take_up(self, engine: Engine, config: Config, entry: Entry) -> None:
        """Have the engine read what was written; put the old file back where it fails."""
        if not self._settings.may_restart:
            self._await_restart(engine, config.path, f"{config.path} has runtime metax")
        else:
            try:
                self._restarter.restart(engine)
            except Trouble as trouble:
                raise self._rolled_back(engine, config, entry, trouble) from None
            if digest(self._host.read(config.path)) != entry.after:
                # Another restart would only do it again.
                self._not_before = math.inf
                made = _generated(config.path)
                self._journal.write(
                    msgspec.structs.replace(entry, step=Step.FAILED, code=made.code, why=made.sentence)
                )
                raise made
        self._journal.write(msgspec.structs.replace(entry, step=Step.APPLIED))

    def _await_restart(self, engine: Engine, since: str, what: str) -> None:
        """Leave it to a person. Raises `Trouble` until they have done it."""
        if not self._restarter.read_since(engine, since):
            command = " ".join(self._settings.restart_command) or command_by_hand(engine)
            raise Trouble(
                Code.RESTART_NEEDED,
                f"{what}, which {engine.kind} has yet to read; --restart is never; run {command} on this node",
            )

    def _rolled_back(self, engine: Engine, config: Config, entry: Entry, trouble: Trouble) -> Trouble:
        self._put_back(config, self._journal.kept(entry) if entry.existed else None, entry)
        try:
            self._restarter.restart(engine)
            end = f"; {config.path} is as it was before, and {engine.kind} answers"
        except Trouble as again:
            end = f"; {config.path} is as it was before, and still: {again.sentence}"
        self._not_before = self._clock() + AGAIN_S
        failed = Trouble(trouble.code, f"{trouble.sentence}{end}")
        self._journal.write(
            msgspec.structs.replace(entry, step=Step.FAILED, code=failed.code, why=failed.sentence)
        )
        return failed

    # ---- undoing

    def _engine_then(self, entry: Entry | None, facts: Facts) -> Engine | None:
        """With which it was registered; None where it never was and there is nothing to look at."""
        if entry is not None:
            return Engine(kind=entry.engine, version=entry.version)
        try:
            return find_engine(self._host, facts.runtime, self._settings.engine)
        except Trouble:
            return None

    def _left_behind(self, engine: Engine, entry: Entry) -> None:
        """Undo what another file has. An engine that is the node's no more may be gone, and nobody waits for it."""
        try:
            self._undone(Engine(kind=entry.engine, version=entry.version), entry)
        except Trouble as trouble:
            if entry.engine is engine.kind:
                raise
            log.warning("%s is not the engine of this node any more: %s", entry.engine, trouble.sentence)

    def _undone(self, engine: Engine, entry: Entry | None) -> str:
        config = config_of(
            engine, self._host, self._programs, self._settings, entry.path if entry is not None else ""
        )
        self._sweep(config)
        current = self._host.read(config.path)
        before, exactly = self._before(config, entry, current)
        owed = entry is not None and entry.step in (Step.REMOVING, Step.APPLYING)
        if before == current and not owed:
            return ""
        if before != current:
            if not exactly:
                config.check(before, None)
            noted = entry or Entry(
                engine=engine.kind,
                version=engine.version,
                path=config.path,
                step=Step.REMOVING,
                existed=before is not None,
                before=digest(before),
                after=digest(current),
            )
            self._journal.write(msgspec.structs.replace(noted, step=Step.REMOVING))
            self._put_back(config, before, entry)
        if self._settings.may_restart:
            self._restarter.restart(engine)
        else:
            # Until then it would start containers by a program that is about to go.
            since = ENTRY if before is None else config.path
            self._await_restart(engine, since, f"{config.path} has runtime metax no more")
        return (
            f"{config.path} is as it was before runtime {names.RUNTIME_CLASS} was registered"
            if exactly
            else (
                f"runtime {names.RUNTIME_CLASS} was taken out of {config.path}, whose other lines somebody edited since"
            )
        )

    def _before(
        self, config: Config, entry: Entry | None, current: bytes | None
    ) -> tuple[bytes | None, bool]:
        """The file without us, and whether these are the very bytes that were there."""
        if current is None:
            return None, True
        if entry is not None and entry.after == digest(current):
            kept = self._journal.kept(entry) if entry.existed else None
            if kept is not None or not entry.existed:
                return kept, True
        if entry is None and names.RUNTIME_CLASS.encode() not in current:
            return current, True
        clean = config.without(current, entry.was if entry is not None else Was())
        made_by_us = isinstance(config, CrioConfig) if entry is None else not entry.existed
        return (None if made_by_us and clean in _EMPTY else clean), clean == current

    def _put_back(self, config: Config, before: bytes | None, entry: Entry | None) -> None:
        if before is None and (entry is None or not entry.existed):
            self._host.remove(config.path)
            if entry is not None and entry.made:
                self._host.remove_empty(config.path.rpartition("/")[0], entry.made)
        elif before is not None:
            self._host.write(config.path, before)
        else:
            current = self._host.read(config.path)
            if current is not None:
                self._host.write(config.path, config.without(current, entry.was if entry else Was()))

    def _cleared(self) -> str:
        """Take the program and the notes away; why not, where containers still need them."""
        left = containers_of(names.RUNTIME_PROGRAM, self._host, self._programs)
        if left:
            return (
                f"{left} containers were started by {names.RUNTIME_PROGRAM} and need it until they end, so it stays; "
                "it can be deleted with its folder when they are gone"
            )
        self._bringing.take_away()
        self._journal.clear()
        return ""


def _generated(path: str) -> Trouble:
    return Trouble(
        Code.CONFIG_GENERATED,
        f"{path} is written anew whenever its engine starts, as k3s and RKE2 do; lines that are added to it are lost; "
        "put the lines of docs/container-runtime.md into its template, and restart the engine",
    )
