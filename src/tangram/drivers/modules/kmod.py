"""The real thing: modules through the host's own `insmod`, `modprobe` and `rmmod`, the rest through sysfs.

The kernel is asked each time and nothing is remembered, so it does not matter who loaded a driver, or whether whoever
did still runs. A parameter that a module does not have is refused here: the kernel would only note it in its log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from tangram.drivers.errors import DriverError
from tangram.drivers.modules.complaints import complaint
from tangram.drivers.modules.in_kernel import KernelModules
from tangram.drivers.modules.programs import HostPrograms
from tangram.drivers.modules.protocol import FunctionState, LoadedModule, LoaderCode, LoaderError
from tangram.drivers.modules.splitting import split, state_of
from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.pci import PciFunction, read_functions
from tangram.drivers.watchdog import Watchdog
from tangram.model.cards import Vendor
from tangram.units.na import NA, Maybe, known
from tangram.units.refusal import quoted

NAME: Final = "kmod"
DRIVERS: Final = {"metax": "METAX", "mxgvm": "MXGVM"}
"""The modules that drive cards, each with the name of its PCI driver: the plain one, and the one that splits cards."""
SYSFS_LIMIT: Final = 60.0
"""Seconds: splitting a card makes the kernel start every part of it."""

_MODULE = re.compile(r"[a-z][a-z0-9_]{0,55}")
_Answer = TypeVar("_Answer")


class KmodLoader:
    """`root` is where the host's files are seen. Not for two threads at once that change something."""

    def __init__(
        self, root: Path = Path("/"), *, programs: HostPrograms | None = None, limit: float = SYSFS_LIMIT
    ) -> None:
        self._root = root
        self._programs = programs or HostPrograms(root)
        own = root / "sys"
        # A host's root without what is mounted on it has an empty folder there, and every container has a /sys.
        self._files = Files(own if (own / "bus").is_dir() else Path("/sys"), self._entering)
        self._modules = KernelModules(self._files)
        self._watchdog = Watchdog(NAME, limit=limit)

    @property
    def name(self) -> str:
        return NAME

    def kernel(self) -> str:
        return known(self._files.text(self._root / "proc/sys/kernel/osrelease"), os.uname().release)

    def loaded(self) -> LoadedModule | None:
        return self._ask("reading /sys/module", self._loaded)

    def of_host(self) -> Maybe[str] | None:
        found = self._host_module()
        return None if found is None else found[1]

    def load_of_host(self) -> None:
        found = self._host_module()
        if found is None:
            raise LoaderError(
                LoaderCode.MISSING,
                f"the host has neither {' nor '.join(DRIVERS)} installed for kernel {self.kernel()}; install the "
                "vendor's driver package",
            )
        self._do(f"loading module {found[0]} of the host", "modprobe", "--", found[0])

    def load(
        self, files: Sequence[Path], *, requires: Sequence[str] = (), parameters: Mapping[str, str]
    ) -> None:
        names = [_module_name(file) for file in files]
        for required in requires:
            if not _MODULE.fullmatch(required):
                raise LoaderError(
                    LoaderCode.MISSING, f"{quoted(required)} is no name of a module; write one such as drm"
                )
        inside = [self._inside(file) for file in files]
        present = [name for name in names if self._modules.is_loaded(name)]
        if present:
            raise LoaderError(
                LoaderCode.BUSY, f"module {present[0]} is loaded already: File exists; unload it first"
            )
        settings = self._settings(inside, parameters)
        for required in requires:
            self._do(f"loading module {required}, which the driver needs,", "modprobe", "--", required)
        self._insert(list(zip(names, inside, settings, strict=True)))

    def unload(self) -> None:
        modules = self._ask("reading /sys/module", lambda: self._modules.unloading(DRIVERS))
        self._refuse_users(modules)
        for card in self._driven():
            if known(card.functions, 0):
                self.set_functions(card.bdf, 0)
        for module in modules:
            if self._modules.is_loaded(module):
                self._do(f"unloading module {module}", "rmmod", module)

    def cards(self) -> tuple[str, ...]:
        return tuple(card.bdf for card in self._cards())

    def functions(self) -> tuple[FunctionState, ...]:
        driven = self._driven()
        return self._ask(
            "reading sriov_numvfs", lambda: tuple(state_of(self._files, card) for card in driven)
        )

    def set_functions(self, bdf: str, count: int) -> None:
        driven = self._driven()
        card = next((card for card in driven if card.bdf == bdf), None)
        if card is None:
            have = ", ".join(card.bdf for card in driven) or "none"
            raise LoaderError(
                LoaderCode.MISSING,
                f"no driven card is at {quoted(bdf)}; there are {have}; name one of these",
            )
        self._ask(f"writing sriov_numvfs of {bdf}", lambda: split(self._files, card, count))

    # ------------------------------------------------------------------------------------------------- sysfs

    def _loaded(self) -> LoadedModule | None:
        present = [name for name in DRIVERS if self._modules.is_loaded(name)]
        if not present:
            return None
        bound = {known(card.kernel_driver, "") for card in self._read_cards()}
        # Both may be there; the one that holds cards is the one that is meant.
        name = next((name for name in present if DRIVERS[name] in bound), present[0])
        return LoadedModule(
            name=name,
            version=self._version(name),
            parameters=self._modules.parameters(name),
            users=sum(map(self._modules.users, present)),
        )

    def _version(self, name: str) -> Maybe[str]:
        stated = self._modules.version(name)
        if isinstance(stated, str):
            return stated
        # Releases differ in whether the module says its version; its cards do.
        told = [
            self._files.last_word(Path(card.folder) / "smi/showdriverversion") for card in self._read_cards()
        ]
        return next((version for version in told if isinstance(version, str)), NA)

    def _refuse_users(self, modules: Sequence[str]) -> None:
        for name in modules:
            others = self._modules.users(name) - len(self._modules.holders(name))
            if others > 0:
                raise LoaderError(
                    LoaderCode.BUSY,
                    f"module {name} is in use: the kernel counts {others} open files of its devices; end the processes "
                    "that use the cards",
                )

    def _cards(self) -> tuple[PciFunction, ...]:
        return self._ask("reading /sys/bus/pci", self._read_cards)

    def _driven(self) -> tuple[PciFunction, ...]:
        return tuple(card for card in self._cards() if card.kernel_driver in DRIVERS.values())

    def _read_cards(self) -> tuple[PciFunction, ...]:
        found = read_functions(self._files)
        return tuple(card for card in found if card.vendor is Vendor.METAX and not card.parent)

    def _entering(self, path: str) -> None:
        self._watchdog.entering(path)

    def _ask(self, call: str, work: Callable[[], _Answer]) -> _Answer:
        try:
            return self._watchdog.run(work, call=call)
        except DriverError as error:
            raise LoaderError(LoaderCode.FAILED, error.sentence.rstrip(".")) from error

    # ---------------------------------------------------------------------------------------------- programs

    def _do(self, action: str, program: str, *arguments: str) -> None:
        said = self._programs.run(program, *arguments)
        if said.status:
            raise complaint(action, said.complaint or said.printed)

    def _host_module(self) -> tuple[str, Maybe[str]] | None:
        """The driver that is installed for this kernel, and its version where it says it."""
        kernel = self.kernel()
        listed = self._listed(kernel)
        for name in DRIVERS:
            try:
                said = self._programs.run("modinfo", "-k", kernel, "-F", "version", name)
            except LoaderError as error:
                if error.code is not LoaderCode.MISSING:
                    raise
                said = None
            if said is not None and said.status == 0:
                return name, said.printed.strip() or NA
            if re.search(rf"(?:^|/){name}\.ko", listed, re.MULTILINE):
                return name, NA
        return None

    def _listed(self, kernel: str) -> str:
        """The kernel's list of its modules, for hosts whose `modinfo` is missing or knows no options."""
        try:
            return (self._root / "lib/modules" / kernel / "modules.dep").read_text(errors="replace")
        except OSError:
            return ""

    def _inside(self, file: Path) -> str:
        """The file's path for a program that runs below the host's root."""
        if not file.is_file():
            raise LoaderError(LoaderCode.MISSING, f"module {file} is no file; name one that is there")
        if self._programs.root == Path("/"):
            return str(file)
        try:
            return str(Path("/") / file.relative_to(self._programs.root))
        except ValueError:
            raise LoaderError(
                LoaderCode.MISSING,
                f"module {file} is not below {self._programs.root}, so the host's programs do not see it; put it there",
            ) from None

    def _settings(self, files: Sequence[str], parameters: Mapping[str, str]) -> list[list[str]]:
        """For each file the parameters that it knows, as `insmod` takes them."""
        if not files:
            raise LoaderError(LoaderCode.MISSING, "no module file was named; name one at least")
        if not parameters:
            return [[] for _ in files]
        knows = [self._known_parameters(file) for file in files]
        unknown = [name for name in parameters if not any(name in each for each in knows)]
        if unknown:
            have = ", ".join(sorted({name for each in knows for name in each})) or "none"
            raise LoaderError(
                LoaderCode.REFUSED,
                f"{files[-1]} has no parameter {quoted(unknown[0])}; it has {have}; name one of these or remove it",
            )
        return [[f"{name}={value}" for name, value in parameters.items() if name in each] for each in knows]

    def _known_parameters(self, file: str) -> set[str]:
        said = self._programs.run("modinfo", "-F", "parm", file)
        if said.status:
            raise complaint(f"reading the parameters of {file}", said.complaint or said.printed)
        return {line.partition(":")[0].strip() for line in said.printed.splitlines() if line.strip()}

    def _insert(self, modules: Sequence[tuple[str, str, list[str]]]) -> None:
        done: list[str] = []
        try:
            for name, file, settings in modules:
                self._do(f"loading {file}", "insmod", file, *settings)
                done.append(name)
        except LoaderError:
            for name in reversed(done):
                # What is wrong is what was said first.
                with suppress(LoaderError):
                    self._do(f"unloading module {name}", "rmmod", name)
            raise


def _module_name(file: Path) -> str:
    """The kernel knows a module by its file's name without endings, and has no dashes in names."""
    name = file.name.partition(".")[0].replace("-", "_")
    if not _MODULE.fullmatch(name):
        raise LoaderError(
            LoaderCode.MISSING,
            f"{quoted(file.name)} is no name of a module's file; name one such as metax.ko",
        )
    return name
