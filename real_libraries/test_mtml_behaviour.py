"""Our driver over Moore Threads' library and over its twin: what it does for people is the same.

Each question is asked in a process of its own, because the library lists the cards of its first start for as long as a
process lives.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from builders.mtml_twin import GIB
from real_libraries.comparing import REPOSITORY
from real_libraries.conftest import SYSFS, Show
from real_libraries.mtml_scenes import FOUR, SCENES
from tangram.drivers.mtml.processes import COUNT, LIST

BEGIN = """
import json, os, shutil, sys
from pathlib import Path
from tangram.drivers.errors import DriverError
from tangram.drivers.mtml.driver import MtmlDriver
from tangram.drivers.mtml.library import RESTART_PAUSE
library, module = sys.argv[1], Path(sys.argv[2])
now = [1000.0]
def opened():
    return MtmlDriver(library, limit=60.0, sgpu_km=module, clock=lambda: now[0])
def tried(ask):
    try:
        return ask()
    except DriverError as error:
        return [str(error.kind), error.sentence]
def show(value):
    print(json.dumps(value, default=str))
driver = opened()
"""


def told(library: Path, tmp_path: Path, code: str) -> Any:  # noqa: ANN401 - what the code printed
    """What that code prints with a driver over the library, in a process that must end well."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code, str(library), str(tmp_path / "sgpu_km")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


LATER = """
world, aside = Path(os.environ["TANGRAM_MTML_WORLD"]), Path("/sys/aside")
machine = world.read_text()
def show_cards(without=()):
    hidden = "".join(f"card {at}\\nhidden 1\\n" for at in without)
    world.with_name("new").write_text(machine + hidden)
    world.with_name("new").replace(world)
def unload():
    aside.mkdir()
    Path("/sys/bus/pci/drivers/mtgpu").rename(aside / "mtgpu")
    for node in Path("/dev").glob("mtgpu.*"):
        shutil.move(node, aside / node.name)
    show_cards(without=range(4))
def load():
    for node in aside.glob("mtgpu.*"):
        shutil.move(node, Path("/dev") / node.name)
    (aside / "mtgpu").rename("/sys/bus/pci/drivers/mtgpu")
    aside.rmdir()
    show_cards()
def lose():
    Path("/sys/bus/pci/drivers/mtgpu/0000:09:00.0").unlink()
    Path("/dev/mtgpu.1").unlink()
    show_cards(without=[1])
def bind_again():
    folder = Path("/sys/bus/pci/devices/0000:09:00.0/misc")
    (folder / "other").mkdir()
    (folder / "mtgpu.1").rmdir()
    (folder / "mtgpu.1").mkdir()
    (folder / "other").rmdir()
"""


def test_cards_are_described(show: Show, mtml: Path, tmp_path: Path) -> None:
    show(FOUR)
    found = told(
        mtml,
        tmp_path,
        "show([[d.index, d.bdf, d.product, d.numa, d.firmware_version, list(d.pcie_path), d.nodes.control,"
        " d.nodes.card, d.nodes.render] for d in driver.devices()])",
    )
    assert found == [
        [
            at,
            f"0000:{8 + at:02x}:00.0",
            "MTT S3000",
            at // 2,
            f"3.{at}.7",
            [f"0000:00:{at + 1:02x}.0", f"0000:{8 + at:02x}:00.0"],
            f"/dev/mtgpu.{at}",
            f"/dev/dri/card{at + 1}",
            f"/dev/dri/renderD{at + 128}",
        ]
        for at in range(4)
    ]


def test_links_have_the_levels_of_the_pci_buses(show: Show, mtml: Path, tmp_path: Path) -> None:
    show(FOUR)
    found = told(
        mtml,
        tmp_path,
        "show([[l.a, l.b, l.pcie.name, l.kind.name] for l in driver.links(driver.devices()).links])",
    )
    assert found == [
        [a, b, "NUMA_NODE" if a // 2 == b // 2 else "SYSTEM", "NONE"]
        for a in range(4)
        for b in range(a + 1, 4)
    ]


def test_figures_are_in_our_units(show: Show, mtml: Path, tmp_path: Path) -> None:
    show(FOUR)
    found = told(
        mtml,
        tmp_path,
        "f = driver.figures(driver.devices()[2].uuid)\n"
        "show([f.utilisation_percent, f.memory_used, f.power_watts, f.clocks_mhz, str(f.processes)])",
    )
    assert found == [20.0, 3 * GIB + 4096, 50.002, {"gpu": 1750, "memory": 8000}, "N/A"]


@pytest.mark.parametrize(
    ("scene", "card", "listed"),
    [
        pytest.param("used", 0, [[4711, 1 << 30], [4712, 4096]], id="of two processes"),
        pytest.param("used", 2, [[7, 1]], id="of another card"),
        pytest.param("used", 1, "N/A", id="none: that says nothing"),
        pytest.param("used-by-hidden-ones", 1, "N/A", id="all hidden"),
    ],
)
def test_processes_are_listed_where_the_library_lists_some(
    scene: str, card: int, listed: object, *, show: Show, mtml: Path, tmp_path: Path
) -> None:
    show(SCENES[scene])
    found = told(
        mtml,
        tmp_path,
        f"p = driver.figures(driver.devices()[{card}].uuid).processes\n"
        "show([[each.pid, each.memory] for each in p] if isinstance(p, tuple) else str(p))",
    )
    assert found == listed


def test_a_card_that_no_longer_answers_is_listed_and_ill(show: Show, mtml: Path, tmp_path: Path) -> None:
    show(FOUR)
    found = told(
        mtml,
        tmp_path,
        "first = driver.devices()\n"
        "world = Path(os.environ['TANGRAM_MTML_WORLD'])\n"
        "world.write_text(world.read_text().replace('card 1\\n', 'card 1\\nhidden 1\\n'))\n"
        "now[0] += RESTART_PAUSE\n"
        "health = driver.health()\n"
        "show([len(first), len(driver.devices()), sorted(h.code for h in health.values() if not h.healthy)])",
    )
    assert found == [4, 4, ["driver-failure"]]


@pytest.mark.parametrize(
    ("first", "then", "cards"),
    [
        pytest.param("unload()", "load()", 4, id="driver loaded later"),
        pytest.param("", "lose()", 3, id="a card lost"),
        pytest.param("", "bind_again()", 4, id="a card bound again"),
    ],
)
def test_a_list_that_is_no_longer_the_kernels_is_outdated_until_a_new_process(
    first: str, then: str, cards: int, *, show: Show, mtml: Path, tmp_path: Path
) -> None:
    """Both stay loaded for as long as the process lives, as `dlclose` changes nothing."""
    show(FOUR)
    before, after, again = told(
        mtml,
        tmp_path,
        f"{LATER}\n{first}\n"
        "before = tried(lambda: len(driver.devices()))\n"
        f"{then}\n"
        "after = tried(lambda: len(driver.devices()))\n"
        "driver.close()\n"
        "show([before, after, tried(lambda: len(opened().devices()))])",
    )
    assert before == 4 or (first and before[0] == "no-driver")
    assert (after[0], again[0]) == ("outdated", "outdated")
    assert "start this program again" in after[1]
    assert told(mtml, tmp_path, "show(len(driver.devices()))") == cards


def test_a_library_that_an_upgrade_replaced_is_outdated(show: Show, mtml: Path, tmp_path: Path) -> None:
    """A second file of it in one process would end the process."""
    show(FOUR)
    copy = tmp_path / "libmtml.so"
    shutil.copyfile(mtml, copy)
    found = told(
        copy,
        tmp_path,
        "before = len(driver.devices())\n"
        "copy = Path(library)\n"
        "content = copy.read_bytes()\n"
        "copy.unlink()\n"
        "copy.write_bytes(content)\n"
        "show([before, tried(lambda: len(driver.devices()))[0], tried(lambda: len(opened().devices()))[0]])",
    )
    assert found == [4, "outdated", "outdated"]


def test_looking_again_makes_no_more_handles(show: Show, mtml: Path, tmp_path: Path) -> None:
    """The library never gives the memory of a handle back: 32 bytes each, some 30 MB a day with eight cards."""
    show(FOUR)
    made = told(
        mtml,
        tmp_path,
        "from tangram.drivers.watchdog import Watchdog\n"
        "entering, asked = Watchdog.entering, []\n"
        "Watchdog.entering = lambda self, call, subject='': asked.append(call) or entering(self, call, subject)\n"
        "driver = opened()\n"
        "def look():\n"
        "    for device in driver.devices(): driver.figures(device.uuid)\n"
        "    driver.health(); driver.links(driver.devices())\n"
        "look()\n"
        "first = len([each for each in asked if 'Init' in each])\n"
        "for _ in range(10): look()\n"
        "show([first, len([each for each in asked if 'Init' in each])])",
    )
    assert made[0] == made[1] > 0


STARTS = """
import ctypes, json, os, sys
library = ctypes.CDLL(sys.argv[1])
def resident():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
def counted(what):
    return len(os.listdir(f"/proc/self/{what}"))
def once():
    handle, card, cards = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint()
    codes = [library.mtmlLibraryInit(ctypes.byref(handle)), library.mtmlLibraryCountDevice(handle, ctypes.byref(cards))]
    codes += [library.mtmlLibraryInitDeviceByIndex(handle, at, ctypes.byref(card)) for at in range(cards.value)]
    codes += [library.mtmlLibraryShutDown(handle)]
    return cards.value, sum(codes)
for _ in range(50): once()
before = resident(), counted("fd"), counted("task")
found = {once() for _ in range(1000)}
grown = resident() - before[0], counted("fd") - before[1], counted("task") - before[2]
print(json.dumps([sorted(found), *grown]))
"""


def test_a_thousand_starts_take_no_more_memory_than_their_handles(show: Show, mtml: Path) -> None:
    """32 bytes and what surrounds them for each of 4,000 handles, which the library never gives back; nothing else."""
    show(FOUR)
    done = subprocess.run(
        [sys.executable, "-c", STARTS, str(mtml)], capture_output=True, text=True, check=True, timeout=300
    )
    found, grown, files, threads = json.loads(done.stdout)
    assert (found, files, threads) == ([[4, 0]], 0, 0)
    assert grown < 1024, "KiB grown"


def test_drivers_one_after_the_other_all_find_the_cards(show: Show, mtml: Path, tmp_path: Path) -> None:
    """Few, for each loads the vendor's package anew, which is never freed; and the library itself stays loaded."""
    show(FOUR)
    found = told(
        mtml,
        tmp_path,
        "def once():\n"
        "    again = opened(); cards = len(again.devices()); again.close(); return cards\n"
        "driver.close()\n"
        "show([once() for _ in range(20)])",
    )
    assert found == [4] * 20


def test_of_eighty_processes_or_more_the_list_may_be_a_part(show: Show, mtml: Path, tmp_path: Path) -> None:
    """The library asks the kernel driver for so many, and says nothing of the rest."""
    show(SCENES["used-by-more-than-are-told"])
    found = told(
        mtml,
        tmp_path,
        "lists = [driver.figures(each.uuid).processes for each in driver.devices()]\n"
        "show([len(each) if isinstance(each, tuple) else str(each) for each in lists])",
    )
    assert found == ["N/A", 70, "N/A", 79]


def test_a_card_in_use_is_not_handed_to_the_slicing_module(show: Show, mtml: Path, tmp_path: Path) -> None:
    show(SCENES["used"])
    module = tmp_path / "sgpu_km"
    module.mkdir()
    (module / "cores").write_text("\n")
    found = told(mtml, tmp_path, "show(tried(lambda: driver.set_sliced(driver.devices()[0].uuid, on=True)))")
    assert found == ["busy", "card 0 is in use by process 4711, 4712"]
    assert (module / "cores").read_text() == "\n"


@pytest.mark.parametrize("seed", range(8))
def test_files_full_of_nonsense_end_in_an_answer_or_an_error(
    seed: int, show: Show, mtml: Path, tmp_path: Path
) -> None:
    show(FOUR)
    dice = random.Random(seed)  # noqa: S311 - a test
    files = sorted(path for path in (SYSFS / "devices").rglob("*") if path.is_file())
    for path in dice.sample(files, 6):
        path.write_bytes(dice.choice([b"", b"\xff" * 40, b"1" * 4000, b"-1\n", b"a: b: c\n", b"\0\0\n"]))
    code = (
        "for ask in (driver.devices, driver.health, lambda: driver.links(driver.devices()),"
        " lambda: [driver.figures(d.uuid) for d in driver.devices()]): tried(ask)\n"
        "show('done')"
    )
    assert told(mtml, tmp_path, code) == "done"


def test_no_function_takes_more_than_the_package_passes(show: Show, mtml: Path) -> None:
    show(SCENES["used"])
    done = subprocess.run(
        [sys.executable, "-m", "real_libraries.mtml_poison", str(mtml)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["all"]), done.stderr
    assert {COUNT, LIST} <= set(done.stdout.splitlines())
