"""The modules that the kernel has now, read from `/sys/module`: who holds whom, and in which order they can go."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tangram.drivers.sysfs.files import Files
from tangram.units.na import Maybe, known

_STATE: Final = frozenset({"initstate", "refcnt"})
_OUT_OF_TREE: Final = "O"
"""In a module's `taint`: it did not come with the kernel."""


class KernelModules:
    def __init__(self, files: Files) -> None:
        self._files = files

    def is_loaded(self, name: str) -> bool:
        """What is built into the kernel has a folder too, but no state."""
        return bool(_STATE & set(self._files.names(self._folder(name))))

    def version(self, name: str) -> Maybe[str]:
        return self._files.text(self._folder(name) / "version")

    def parameters(self, name: str) -> dict[str, str]:
        """Those that may be read."""
        folder = self._folder(name) / "parameters"
        values = {each: self._files.text(folder / each) for each in self._files.names(folder)}
        return {each: value for each, value in values.items() if isinstance(value, str)}

    def users(self, name: str) -> int:
        """How often it is held, by modules and by open files."""
        return known(self._files.whole(self._folder(name) / "refcnt"), 0)

    def holders(self, name: str) -> list[str]:
        """The modules that use it."""
        return self._files.names(self._folder(name) / "holders")

    def unloading(self, names: Iterable[str]) -> list[str]:
        """The modules in the order in which they go: before each those that use it, at the end what came along.

        What came along are modules that are not the kernel's own and that nobody else uses.
        """
        order: list[str] = []
        for name in names:
            self._add(name, order)
        for name in self._files.names(self._files.root / "module") if order else []:
            foreign = _OUT_OF_TREE in known(self._files.text(self._folder(name) / "taint"), "")
            holders = self.holders(name) if foreign else []
            if holders and set(holders) <= set(order):
                self._add(name, order)
        return order

    def _add(self, name: str, order: list[str]) -> None:
        if name not in order and self.is_loaded(name):
            for holder in self.holders(name):
                self._add(holder, order)
            order.append(name)

    def _folder(self, name: str) -> Path:
        return self._files.root / "module" / name
