"""The library as it is now: found, loaded, initialised, and loaded anew after an upgrade.

Loading and initialising can hang like any other call, so they too happen on the watchdog's thread, at the first
question. "No library" and "no device" are answers for now: the next question looks again, since a node's driver is
often installed after its agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml import codes, functions
from tangram.drivers.mxsml.binding import Binding
from tangram.drivers.mxsml.library import Library
from tangram.drivers.mxsml.locate import candidates
from tangram.drivers.mxsml.rings import Rings
from tangram.drivers.mxsml.settings import Settings
from tangram.drivers.mxsml.sightings import limited_numbers
from tangram.drivers.watchdog import Watchdog

_Answer = TypeVar("_Answer")


class Session:
    """One library handle and the one thread that may use it."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        *,
        before_look: Callable[[], None] = lambda: None,
        replacing: bool = False,
    ) -> None:
        """`before_look` is called whenever the library is about to look at the bus."""
        self.watchdog = Watchdog("mxsml", limit=settings.limit)
        self._settings = settings
        self._environment = environment
        self._before_look = before_look
        self._replacing = replacing
        self._binding: Binding | None = None
        self._initialised = False
        self._finishing = False
        self.calling = ""
        """The vendor's function entered last, for whoever wonders what hangs."""

    def ask(
        self, work: Callable[[Binding], _Answer], *, call: str, stale: Callable[[], bool] = bool
    ) -> _Answer:
        """Answer a question, or give up at the limit. What is left of a question given up is not asked.

        When `stale` says so, the library looks at the bus once more before.
        """
        return self.watchdog.run(lambda: self._work(work, stale, finishing=False), call=call)

    def change(
        self, work: Callable[[Binding], _Answer], *, call: str, stale: Callable[[], bool] = bool
    ) -> _Answer:
        """Make a change. Once begun it runs to its end even when nobody waits any more, so that it can be undone."""
        return self.watchdog.run(
            lambda: self._work(work, stale, finishing=True), call=call, limit=self._settings.change_limit
        )

    @property
    def given_up(self) -> bool:
        """Whether nobody waits for the present work any more."""
        return self.watchdog.given_up

    @property
    def outlived(self) -> bool:
        """Whether this handle hangs while another library has taken its file's place."""
        return self.given_up and self._binding is not None and self._binding.library.replaced

    def successor(self) -> Session:
        """A session with the library that took this one's place; this one's thread ends if its call ever returns."""
        settings = self._settings
        if self._binding is not None:
            settings = msgspec.structs.replace(settings, library=self._binding.library.path)
        self.watchdog.close()
        return Session(settings, self._environment, before_look=self._before_look, replacing=True)

    def close(self) -> None:
        # A library that hangs, now or while it is unloaded, stays loaded: nothing can be done about it from here.
        with suppress(DriverError):
            self.watchdog.run(self._unload, call="dlclose")
        self.watchdog.close()

    def _work(
        self, work: Callable[[Binding], _Answer], stale: Callable[[], bool], *, finishing: bool
    ) -> _Answer:
        self._finishing = finishing
        if stale():
            self._initialised = False
        binding = self._present()
        if not binding.library.alone.acquire(blocking=False):
            self._entering(f"another driver of this process in {binding.library.path}")
            binding.library.alone.acquire()
        try:
            if not self._initialised:
                self._initialise(binding)
            return work(binding)
        finally:
            binding.library.alone.release()

    def _present(self) -> Binding:
        binding = self._binding
        if binding is not None and binding.library.replaced:
            binding = self._reloaded(binding)
        return self._loaded() if binding is None else binding

    def _loaded(self) -> Binding:
        refusals: list[str] = []
        for candidate in candidates(self._settings.library, self._environment):
            self._entering(f"dlopen {candidate}")
            try:
                library = Library(candidate, self._entering, replacing=self._replacing)
            except OSError as error:
                refusals.append(str(error))
                continue
            return self._adopted(library)
        raise DriverError(
            Kind.NO_LIBRARY,
            "libmxsml could not be loaded: " + "; ".join(refusals),
            call="dlopen",
            vendor_text=refusals[0] if refusals else "",
        )

    def _reloaded(self, old: Binding) -> Binding:
        self._entering(f"dlopen {old.library.path}")
        try:
            library = Library(old.library.path, self._entering, replacing=True)
        except OSError:
            # Half written, most likely. The old copy still works and the next question tries again.
            return old
        old.library.close()
        return self._adopted(library)

    def _adopted(self, library: Library) -> Binding:
        self._binding = Binding(library, Rings(self._settings.sysfs_root), lambda: self.given_up)
        self._initialised = False
        return self._binding

    def _initialise(self, binding: Binding) -> None:
        library = binding.library
        self._before_look()
        # A plain Init looks at the bus once in the life of a process, whichever driver asked, and the library is never
        # unloaded: only with the flag does this one see what came, went or was split meanwhile.
        flagged = library.has("InitWithFlags")
        name = "InitWithFlags" if flagged else "Init"
        code = library.call(name, functions.RE_ENUMERATE) if flagged else library.call(name)
        if code == codes.NO_DEVICE and limited_numbers(binding):
            # There are cards, and none that it can use: each says why.
            code = codes.DONE
        if code == codes.NO_DEVICE:
            raise DriverError(
                Kind.NO_DRIVER,
                f"{library.path} finds no MetaX card: the kernel driver is not loaded or there is no card",
                call=functions.PREFIX + name,
                vendor_code=code,
                vendor_text=library.words_for(code),
            )
        if code != codes.DONE:
            raise library.error(name, code)
        self._initialised = True

    def _entering(self, call: str) -> None:
        if self.watchdog.given_up and not self._finishing:
            raise DriverError(Kind.STUCK, f"given up before {call}", call=call)
        self.calling = call
        self.watchdog.entering(call)

    def _unload(self) -> None:
        if self._binding is not None:
            self._binding.library.close()
            self._binding = None
