"""The real loader over a made-up host: its sysfs, and programs that note how they were called and fail as told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from builders.hanging import LONG
from builders.sysfs_tree import METAX, Tree
from tangram.drivers.modules.complaints import complaint
from tangram.drivers.modules.kmod import KmodLoader
from tangram.drivers.modules.opening import open_loader
from tangram.drivers.modules.programs import HostPrograms
from tangram.drivers.modules.protocol import LoaderCode, LoaderError
from tangram.units.na import NA

KERNEL = "5.15.0-91-generic"
FIRST, SECOND = "0000:0e:00.0", "0000:0f:00.0"
SRIOV = {"sriov_totalvfs": "8", "sriov_numvfs": "0"}
PROGRAMS = ("insmod", "rmmod", "modprobe", "modinfo")
SCRIPT = """#!/bin/sh
name=${0##*/}
if [ "$name" = chroot ]; then root=$1; shift; name=$1; shift; echo "in $root" >> "$HOME_OF_TEST/calls"; fi
echo "$name $*" >> "$HOME_OF_TEST/calls"
for last; do :; done
say=$HOME_OF_TEST/say/$name
[ -e "$say-${last##*/}" ] && say=$say-${last##*/}
[ -e "$say" ] && . "$say"
[ "$name" = insmod ] && module=${1##*/} && mkdir -p "$HOME_OF_TEST/sys/module/${module%.ko}" \\
  && echo live > "$HOME_OF_TEST/sys/module/${module%.ko}/initstate"
[ "$name" = rmmod ] && rm -r "$HOME_OF_TEST/sys/module/$1"
exit 0
"""


class Host:
    """A host below a folder."""

    def __init__(self, root: Path, *, inside: bool = True) -> None:
        self.root = root
        self.tree = Tree(root)
        (root / "proc/sys/kernel").mkdir(parents=True)
        (root / "proc/sys/kernel/osrelease").write_text(f"{KERNEL}\n")
        (self.tree.sys / "bus/pci/devices").mkdir(parents=True)
        self.bin = root / "bin"
        for folder in (self.bin, root / "say"):
            folder.mkdir()
        for name in (*PROGRAMS, "chroot"):
            program = self.bin / name
            program.write_text(SCRIPT.replace("$HOME_OF_TEST", str(root)))
            program.chmod(0o755)
        self.programs = HostPrograms(
            root if inside else Path("/"), search_path=f"{self.bin}:/usr/bin:/bin", limit=LONG
        )
        self.loader = KmodLoader(root, programs=self.programs, limit=LONG)

    def cards(self, driver: str | None = "METAX", **files: str) -> None:
        for number, bdf in enumerate((FIRST, SECOND)):
            self.tree.card(f"pci0000:00/0000:00:0{number + 1}.0/{bdf}", driver=driver, files=files)

    def module(self, name: str, refcnt: int = 0, holders: tuple[str, ...] = (), **files: str) -> None:
        for file, text in {"initstate": "live", "refcnt": str(refcnt), **files}.items():
            self.tree.write(f"module/{name}/{file}", text)
        for holder in holders:
            self.tree.write(f"module/{name}/holders/{holder}/x", "")

    def file(self, name: str = "metax.ko") -> Path:
        path = self.root / "opt" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\x7fELF")
        return path

    def say(self, name: str, script: str) -> None:
        (self.root / "say" / name).write_text(f"{script}\n")

    def complains(self, name: str, text: str) -> None:
        self.say(name, f'echo "{text}" >&2; exit 1')

    @property
    def calls(self) -> list[str]:
        file = self.root / "calls"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def changes(self) -> list[str]:
        return [call for call in self.calls if call.split()[0] in ("insmod", "rmmod", "modprobe")]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def refused(code: LoaderCode, host: Host, *files: Path, **parameters: str) -> str:
    with pytest.raises(LoaderError) as caught:
        host.loader.load(files, parameters=parameters)
    assert caught.value.code is code
    return str(caught.value)


def test_a_bare_host_has_cards_and_nothing_loaded(host: Host) -> None:
    host.cards(driver=None)
    host.tree.card(f"pci0000:00/0000:00:01.0/{FIRST[:-1]}1", {**METAX, "class": "0x060400"}, driver=None)
    host.complains("modinfo", "modinfo: ERROR: Module metax not found.")
    assert host.loader.name == "kmod"
    assert host.loader.kernel() == KERNEL
    assert host.loader.loaded() is None
    assert host.loader.of_host() is None
    assert host.loader.cards() == (FIRST, SECOND)
    assert host.loader.functions() == ()
    host.loader.unload()
    assert host.changes == []


def test_what_is_loaded_is_read_from_the_kernel(host: Host) -> None:
    host.cards(**{"smi/showdriverversion": "driver version: 2.32.0"})
    host.module("metax", refcnt=3)
    host.tree.write("module/metax/parameters/mxcd_log_level", "3")
    module = host.loader.loaded()
    assert module is not None
    assert (module.name, module.version, module.users) == ("metax", "2.32.0", 3)
    assert module.parameters == {"mxcd_log_level": "3"}
    host.tree.write("module/metax/version", "2.32.1")
    module = host.loader.loaded()
    assert module is not None
    assert module.version == "2.32.1"


def test_of_two_drivers_the_one_that_holds_cards_is_meant(host: Host) -> None:
    host.cards(driver="MXGVM")
    host.module("metax", refcnt=1)
    host.module("mxgvm", refcnt=1)
    module = host.loader.loaded()
    assert module is not None
    assert (module.name, module.version, module.users) == ("mxgvm", NA, 2)


def test_a_module_that_is_built_in_is_not_loaded(host: Host) -> None:
    host.tree.write("module/metax/parameters/x", "1")
    assert host.loader.loaded() is None


def test_a_driver_is_loaded_by_the_hosts_own_programs_after_what_it_needs(host: Host) -> None:
    host.say("modinfo", 'echo "gpu_model:which (int)"; exit 0')
    host.loader.load([host.file()], requires=["drm", "ttm"], parameters={"gpu_model": "1"})
    assert host.changes == ["modprobe -- drm", "modprobe -- ttm", "insmod /opt/metax.ko gpu_model=1"]
    assert f"in {host.root}" in host.calls
    module = host.loader.loaded()
    assert module is not None
    assert module.name == "metax"


def test_on_the_host_itself_no_root_is_changed(tmp_path: Path) -> None:
    host = Host(tmp_path, inside=False)
    host.loader.load([host.file()], parameters={})
    assert host.calls == [f"insmod {host.root}/opt/metax.ko"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("insmod: ERROR: could not insert module x.ko: Invalid module format", LoaderCode.WRONG_KERNEL),
        ("insmod: ERROR: could not insert module x.ko: Unknown symbol in module", LoaderCode.WRONG_KERNEL),
        (
            "insmod: can't insert 'x.ko': unknown symbol in module, or unknown parameter",
            LoaderCode.WRONG_KERNEL,
        ),
        ("insmod: ERROR: could not insert module x.ko: Required key not available", LoaderCode.REFUSED),
        ("insmod: ERROR: could not insert module x.ko: Key was rejected by service", LoaderCode.REFUSED),
        ("insmod: ERROR: could not insert module x.ko: Operation not permitted", LoaderCode.REFUSED),
        ("insmod: ERROR: could not insert module x.ko: Invalid parameters", LoaderCode.REFUSED),
        ("insmod: ERROR: could not insert module x.ko: File exists", LoaderCode.BUSY),
        ("insmod: ERROR: could not insert module x.ko: Device or resource busy", LoaderCode.BUSY),
        ("rmmod: ERROR: Module metax is in use", LoaderCode.BUSY),
        ("modprobe: FATAL: Module ttm not found in directory /lib/modules/5", LoaderCode.MISSING),
        ("insmod: ERROR: could not insert module x.ko: Cannot allocate memory", LoaderCode.FAILED),
        ("insmod: ERROR: could not insert module x.ko: No such device", LoaderCode.FAILED),
        ("", LoaderCode.FAILED),
    ],
)
def test_what_the_kernel_says_is_sorted_into_what_can_be_done(text: str, code: LoaderCode) -> None:
    error = complaint("loading x.ko", text)
    assert error.code is code
    assert error.sentence.startswith("loading x.ko ")
    assert ";" in error.sentence


def test_all_modules_are_loaded_or_none(host: Host) -> None:
    first, second = host.file("mxhelp.ko"), host.file()
    host.complains(
        "insmod-metax.ko", "insmod: ERROR: could not insert module metax.ko: Invalid module format"
    )
    assert "Invalid module format" in refused(LoaderCode.WRONG_KERNEL, host, first, second)
    assert host.changes == ["insmod /opt/mxhelp.ko", "insmod /opt/metax.ko", "rmmod mxhelp"]
    assert not (host.tree.sys / "module/mxhelp").exists()


def test_what_cannot_be_loaded_is_refused_before_anything_changes(host: Host, tmp_path: Path) -> None:
    host.say("modinfo", 'echo "gpu_model:which (int)"; exit 0')
    good = host.file()
    assert "gpu_model" in refused(LoaderCode.REFUSED, host, good, colour="red")
    refused(LoaderCode.MISSING, host, tmp_path / "opt/none.ko")
    refused(LoaderCode.MISSING, host, host.file("--help.ko"))
    refused(LoaderCode.MISSING, host)
    outside = tmp_path.parent / f"{tmp_path.name}-outside.ko"
    shutil.copy(good, outside.with_name("metax.ko"))
    assert "not below" in refused(LoaderCode.MISSING, host, outside.with_name("metax.ko"))
    with pytest.raises(LoaderError) as caught:
        host.loader.load([good], requires=["--all"], parameters={})
    assert caught.value.code is LoaderCode.MISSING
    host.module("metax")
    assert "already" in refused(LoaderCode.BUSY, host, good)
    assert host.changes == []


def test_what_the_driver_needs_and_the_kernel_lacks_is_named(host: Host) -> None:
    host.complains("modprobe", "modprobe: FATAL: Module ttm not found in directory /lib/modules/5")
    with pytest.raises(LoaderError, match="module ttm") as caught:
        host.loader.load([host.file()], requires=["ttm"], parameters={})
    assert caught.value.code is LoaderCode.MISSING
    assert host.changes == ["modprobe -- ttm"]


def test_a_driver_is_unloaded_after_its_users_and_before_what_came_along(host: Host) -> None:
    host.module("metax", refcnt=1, holders=("metax_peer",), taint="OE")
    host.module("metax_peer", taint="OE")
    host.module("mxhelp", refcnt=1, holders=("metax",), taint="OE")
    host.module("mxshared", refcnt=2, holders=("metax", "other"), taint="OE")
    host.module("ttm", refcnt=1, holders=("metax",))
    host.loader.unload()
    assert host.changes == ["rmmod metax_peer", "rmmod metax", "rmmod mxhelp"]
    assert host.loader.loaded() is None


def test_a_driver_in_use_stays(host: Host) -> None:
    host.module("metax", refcnt=2, holders=("metax_peer",))
    host.module("metax_peer")
    with pytest.raises(LoaderError, match="1 open files") as caught:
        host.loader.unload()
    assert caught.value.code is LoaderCode.BUSY
    assert host.changes == []
    (host.tree.sys / "module/metax/refcnt").write_text("1\n")
    host.complains("rmmod-metax", "rmmod: ERROR: Module metax is in use")
    with pytest.raises(LoaderError) as caught:
        host.loader.unload()
    assert caught.value.code is LoaderCode.BUSY


def test_the_driver_of_the_host_is_found_and_loaded(host: Host) -> None:
    host.say("modinfo", "echo 2.30.1; exit 0")
    assert host.loader.of_host() == "2.30.1"
    assert f"modinfo -k {KERNEL} -F version metax" in host.calls
    host.loader.load_of_host()
    assert host.changes == ["modprobe -- metax"]


def test_a_host_without_modinfo_is_asked_for_its_list_of_modules(host: Host) -> None:
    host.complains("modinfo", "modinfo: invalid option -- 'k'")
    listing = host.root / "lib/modules" / KERNEL / "modules.dep"
    listing.parent.mkdir(parents=True)
    listing.write_text("kernel/drivers/gpu/drm/drm.ko:\nupdates/dkms/metax.ko.zst: kernel/drm.ko\n")
    assert host.loader.of_host() is NA
    (host.bin / "chroot").write_text("#!/bin/sh\necho 'chroot: failed to run command' >&2; exit 127\n")
    assert host.loader.of_host() is NA
    with pytest.raises(LoaderError, match="install kmod") as caught:
        host.loader.load_of_host()
    assert caught.value.code is LoaderCode.MISSING
    listing.unlink()
    assert host.loader.of_host() is None
    with pytest.raises(LoaderError, match="neither metax nor mxgvm"):
        host.loader.load_of_host()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    programs = HostPrograms(tmp_path, search_path=str(tmp_path), limit=LONG)
    with pytest.raises(LoaderError, match="chroot") as caught:
        programs.run("insmod", "x")
    assert caught.value.code is LoaderCode.MISSING


def test_a_host_that_cannot_be_entered_is_not_taken_for_one_without_a_driver(host: Host) -> None:
    (host.bin / "chroot").write_text(
        "#!/bin/sh\necho '/usr/sbin/chroot: cannot change root directory: Operation not permitted' >&2; exit 125\n"
    )
    with pytest.raises(LoaderError, match="run privileged") as caught:
        host.loader.of_host()
    assert caught.value.code is LoaderCode.FAILED


def test_a_program_that_hangs_is_given_up_and_named(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.say("insmod", "exec sleep 600")
    programs = HostPrograms(tmp_path, search_path=f"{host.bin}:/usr/bin:/bin", limit=0.2)
    with pytest.raises(LoaderError, match=r"insmod /x has not ended within 0\.2 s") as caught:
        programs.run("insmod", "/x")
    assert caught.value.code is LoaderCode.FAILED


def test_a_card_is_split_and_joined_through_the_kernels_switch(host: Host) -> None:
    host.cards(driver="MXGVM", **SRIOV)
    for count in (2, 4, 0):
        host.loader.set_functions(FIRST, count)
        assert [(each.bdf, each.now, each.most) for each in host.loader.functions()] == [
            (FIRST, count, 8),
            (SECOND, 0, 8),
        ]


def split_refused(host: Host, count: int, bdf: str = FIRST) -> LoaderCode:
    with pytest.raises(LoaderError) as caught:
        host.loader.set_functions(bdf, count)
    return caught.value.code


def test_a_card_that_offers_no_functions_is_not_split(host: Host) -> None:
    host.cards()
    assert split_refused(host, 2) is LoaderCode.NO_FUNCTIONS
    assert split_refused(host, 2, "0000:99:00.0") is LoaderCode.MISSING
    host.loader.set_functions(FIRST, 0)
    host.tree.write(f"bus/pci/devices/{FIRST}/sriov_totalvfs", "4")
    host.tree.write(f"bus/pci/devices/{FIRST}/sriov_numvfs", "0")
    assert split_refused(host, 8) is LoaderCode.NO_FUNCTIONS


def test_a_function_in_a_virtual_machine_keeps_its_card_as_it_is(host: Host) -> None:
    host.cards(driver="MXGVM", **{**SRIOV, "sriov_numvfs": "2"})
    host.module("mxgvm")
    part = "pci0000:00/0000:00:01.0/0000:0e:00.1"
    folder = host.tree.card(part, {**METAX, "device": "0x4002"}, driver="vfio-pci")
    (folder / "physfn").symlink_to(folder.parent / FIRST)
    (folder.parent / FIRST / "virtfn0").symlink_to(folder)
    assert host.loader.cards() == (FIRST, SECOND)
    assert [each.in_use for each in host.loader.functions()] == [True, False]
    assert split_refused(host, 4) is LoaderCode.BUSY
    with pytest.raises(LoaderError) as caught:
        host.loader.unload()
    assert caught.value.code is LoaderCode.BUSY
    assert host.changes == []


def test_cards_are_joined_before_their_driver_goes(host: Host) -> None:
    host.cards(driver="MXGVM", **{**SRIOV, "sriov_numvfs": "2"})
    host.module("mxgvm")
    host.loader.unload()
    assert [each.now for each in host.loader.functions()] == [0, 0]
    assert host.changes == ["rmmod mxgvm"]


def test_a_switch_that_cannot_be_written_is_told_with_what_it_said(host: Host) -> None:
    host.cards(driver="MXGVM", **SRIOV)
    switch = host.tree.sys / "devices/pci0000:00/0000:00:01.0" / FIRST / "sriov_numvfs"
    switch.unlink()
    assert split_refused(host, 2) is LoaderCode.NO_FUNCTIONS
    switch.symlink_to("/dev/full")
    assert split_refused(host, 2) is LoaderCode.FAILED
    switch.unlink()
    switch.symlink_to("/dev/null")
    assert split_refused(host, 2) is LoaderCode.FAILED, "it says nothing afterwards"


@pytest.mark.parametrize("text", ["auto", "kmod"])
def test_auto_is_the_hosts_own_kernel(text: str, host: Host) -> None:
    loader = open_loader(text, host.root)
    assert loader.name == "kmod"
    assert loader.kernel() == KERNEL
