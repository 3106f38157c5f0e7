"""What the unit tests cannot do because it takes root, and what needs no cluster."""

import os
import stat
from pathlib import Path

from builders.simulated import make_driver
from tangram.drivers.simulated.device_nodes import DeviceFolder


def test_device_nodes_of_simulated_cards_are_real_and_harmless(tmp_path: Path) -> None:
    folder = DeviceFolder(tmp_path / "made" / "below")
    folder.follow(make_driver({"product": "C500"}).devices())
    status = (folder.root / "mxcd").stat()
    assert stat.S_ISCHR(status.st_mode)
    assert stat.S_IMODE(status.st_mode) == 0o666
    assert status.st_rdev == Path(os.devnull).stat().st_rdev
    assert folder.remark == ""
    folder.clear()
    assert list(tmp_path.iterdir()) == []
