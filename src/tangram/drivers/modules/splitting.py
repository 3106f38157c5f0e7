"""Virtual functions through the kernel's own switch, `sriov_numvfs` of each card.

The kernel goes from one number to another only through 0. A number that is refused on the way leaves the card with
what it had before, as far as the kernel lets us.
"""

from __future__ import annotations

import contextlib
import os
from errno import EBUSY, EINVAL, ENODEV, ENOENT, ENOSYS, ENOTTY, EOPNOTSUPP, ERANGE
from pathlib import Path
from typing import Final

from tangram.drivers.modules.protocol import FunctionState, LoaderCode, LoaderError
from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.pci import PciFunction
from tangram.units.na import known

_SWITCH: Final = "sriov_numvfs"
_PASSED_ON: Final = "vfio-pci"
"""Holds a function for a virtual machine."""
_CODES: Final = {
    EBUSY: LoaderCode.BUSY,
    **dict.fromkeys(
        (ENOENT, EINVAL, ENOSYS, ENOTTY, EOPNOTSUPP, ERANGE, ENODEV),
        LoaderCode.NO_FUNCTIONS,
    ),
}
_INSTEAD: Final = {
    LoaderCode.BUSY: "end whatever uses the card or its virtual functions",
    LoaderCode.NO_FUNCTIONS: "its firmware, its driver or the machine offers no such split; ask for 0",
    LoaderCode.FAILED: "look into the kernel log; the process must be privileged and see a writable /sys",
}


def state_of(files: Files, card: PciFunction) -> FunctionState:
    """What a card is split into now."""
    folder = Path(card.folder)
    parts = [name for name in files.names(folder) if name.startswith("virtfn")]
    return FunctionState(
        bdf=card.bdf,
        now=known(card.functions, 0),
        most=known(card.total_functions, 0),
        in_use=any(files.target(folder / part / "driver") == _PASSED_ON for part in parts),
    )


def split(files: Files, card: PciFunction, count: int) -> None:
    """Split a card into that many; 0 joins it. Raises `LoaderError`."""
    state = state_of(files, card)
    if count == state.now:
        return
    if not state.most or not 0 <= count <= state.most:
        most = f"at most {state.most}" if state.most else "none"
        raise LoaderError(
            LoaderCode.NO_FUNCTIONS,
            f"card {card.bdf} cannot be split into {count} virtual functions: it offers {most}; ask for what it offers",
        )
    if state.in_use:
        raise LoaderError(
            LoaderCode.BUSY,
            f"a virtual function of card {card.bdf} is given to a virtual machine ({_PASSED_ON}); end that first",
        )
    if state.now:
        _write(files, card, 0)
    if count:
        try:
            _write(files, card, count)
        except LoaderError:
            with contextlib.suppress(LoaderError):
                _write(files, card, state.now)
            raise


def _write(files: Files, card: PciFunction, count: int) -> None:
    file = Path(card.folder) / _SWITCH
    try:
        # As a shell's `>` opens it, but never making a file where there is none.
        switch = os.open(file, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(switch, b"%d" % count)
        finally:
            os.close(switch)
    except OSError as error:
        code = _CODES.get(error.errno or 0, LoaderCode.FAILED)
        raise LoaderError(
            code,
            f"card {card.bdf} was not split into {count} virtual functions: writing {_SWITCH} said "
            f"{error.strerror or error}; {_INSTEAD[code]}",
        ) from error
    now = files.whole(file)
    if now != count:
        raise LoaderError(
            LoaderCode.FAILED,
            f"card {card.bdf} was to be split into {count} virtual functions and {_SWITCH} says {now} afterwards; "
            "look into the kernel log",
        )
