"""The runtime wrapper as container runtimes call it: what it adds, what it leaves alone, and that runc never minds."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from e2e.programs_kit import VERSION, host_programs
from shipping.image.programs import SOURCES, find_go
from testbed.binaries import find_binaries
from testbed.box import REPOSITORY
from testbed.busybox import static_busybox

pytestmark = pytest.mark.smoke

NAMES = ("runc", "crun")
PLACES = (
    *("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/libexec/crio"),
    *("/usr/lib/cri-o-runc/sbin", "/var/lib/rancher/rke2/bin", "/var/lib/rancher/k3s/data/current/bin"),
)
"""Where the program looks for them."""
CARD = {"linux": {"devices": [{"path": "/dev/mxcd", "type": "c", "major": 1, "minor": 3}]}}
RECORDER = """#!/bin/sh
printf '%s\\0' "$@" > {folder}/arguments
env -0 > {folder}/environment
ls /proc/self/fd > {folder}/open
cat > {folder}/input
echo said; echo complained >&2
exit 7
"""


@dataclass
class Host:
    """Folders of a host, a runtime that writes down how it was called, and a container to be."""

    root: Path
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    own_runtimes: bool = True
    """Whether the program sees the runtimes of this machine."""

    def __post_init__(self) -> None:
        for folder in ("opt/maca-1/lib", "opt/maca-2", "opt/mxdriver-3", "bundle/rootfs", "called"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "opt" / "maca").symlink_to("maca-1")
        (self.root / "opt" / "mxdriver").symlink_to(self.root / "opt" / "mxdriver-3")
        recorder = self.root / "recorder"
        recorder.write_text(RECORDER.format(folder=self.root / "called"))
        recorder.chmod(0o755)
        self.settings = {
            "runtime": str(recorder),
            "folders": [self.maca, self.driver],
            "log": str(self.root / "log"),
        }
        self.tell({**CARD})

    @property
    def maca(self) -> str:
        return str(self.root / "opt" / "maca")

    @property
    def driver(self) -> str:
        return str(self.root / "opt" / "mxdriver")

    @property
    def config(self) -> Path:
        return self.root / "bundle" / "config.json"

    def tell(self, config: Mapping[str, Any]) -> None:
        self.config.write_text(json.dumps(config))

    def call(
        self,
        *words: str,
        cwd: Path | None = None,
        stdin: bytes = b"",
        files: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        settings = self.root / "runtime.json"
        if self.settings:
            settings.write_text(json.dumps(self.settings))
        return subprocess.run(  # noqa: S603 - the program under test
            [*self._without_runtimes(), host_programs() / "mx-container-runtime", *words],
            check=False,
            capture_output=True,
            input=stdin,
            pass_fds=files,
            cwd=cwd,
            env={
                "PATH": os.defpath,
                "MX_CONTAINER_RUNTIME_SETTINGS": str(settings),
                **(environment or {}),
            },
            timeout=30,
        )

    def _without_runtimes(self) -> list[str | Path]:
        """A mount namespace in which a file that cannot be executed lies over each runtime of this machine."""
        found = {
            str(path) for path in (Path(place) / name for place in PLACES for name in NAMES) if path.exists()
        }
        if self.own_runtimes or not found:
            return []
        (cover := self.root / "cover").touch(0o644)
        script = f'for each in {" ".join(sorted(found))}; do mount --bind "$0" "$each"; done; exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, cover]

    def create(self) -> subprocess.CompletedProcess[bytes]:
        return self.call("create", "--bundle", str(self.root / "bundle"), "id")

    def mounts(self) -> list[tuple[str, str]]:
        found = json.loads(self.config.read_bytes()).get("mounts", [])
        return [(one["source"], one["destination"]) for one in found]

    def arguments(self) -> list[str]:
        return (self.root / "called" / "arguments").read_text().split("\0")[:-1]

    def log(self) -> str:
        path = self.root / "log"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_container_with_a_card_sees_what_the_links_lead_to_now(host: Host) -> None:
    answer = host.create()
    both = [(f"{host.maca}-1", host.maca), (f"{host.driver}-3", host.driver)]
    assert (answer.returncode, host.mounts(), host.log()) == (7, both, "")
    mount = json.loads(host.config.read_bytes())["mounts"][0]
    assert set(mount["options"]) == {"rbind", "ro", "nosuid", "nodev", "rprivate"}


def test_a_container_without_a_card_keeps_its_bytes(host: Host) -> None:
    host.config.write_text('{"linux":{"devices":[{"path":"/dev/null"}]},\n "x":1.10}')
    before = host.config.stat()
    assert host.create().returncode == 7
    assert host.config.read_text() == '{"linux":{"devices":[{"path":"/dev/null"}]},\n "x":1.10}'
    assert host.config.stat().st_ino == before.st_ino


def test_every_other_byte_stays_and_so_do_mode_and_owner(host: Host) -> None:
    told = json.dumps(CARD)[:-1] + ', "hooks" : {"x":[ ]},\n "big": 12345678901234567890.10, "mounts": [ ] }'
    host.config.write_text(told)
    host.config.chmod(0o640)
    os.chown(host.config, 12, 34)
    host.create()
    made = host.config.read_text()
    start, end = told.split("[ ] }")[0], "] }"
    assert made.startswith(f"{start}[ {{")
    assert made.endswith(end)
    status = host.config.stat()
    assert (status.st_mode & 0o777, status.st_uid, status.st_gid) == (0o640, 12, 34)
    assert [one.name for one in host.config.parent.iterdir() if one.name != "rootfs"] == ["config.json"]


@pytest.mark.parametrize(
    ("asked", "source"),
    [("image", None), ("2", "maca-2"), ("9", None), ("../../etc", None), ("", "maca-1")],
)
def test_a_pod_chooses_its_mxmaca(host: Host, asked: str, source: str | None) -> None:
    host.tell({**CARD, "annotations": {"tangram.dev/maca": asked}})
    host.create()
    found = [one for one, where in host.mounts() if where == host.maca]
    assert found == ([f"{host.root}/opt/{source}"] if source else [])
    assert (host.driver in {where for _, where in host.mounts()}) is True
    assert bool(host.log()) == (asked in {"9", "../../etc"})


def test_what_is_mounted_there_already_stays(host: Host) -> None:
    own = {"destination": host.maca, "source": "/mine", "type": "bind"}
    host.tell({**CARD, "mounts": [own]})
    host.create()
    assert host.mounts() == [("/mine", host.maca), (f"{host.driver}-3", host.driver)]


def test_folders_that_the_host_lacks_are_not_mounted(host: Host) -> None:
    (host.root / "opt" / "maca").unlink()
    host.create()
    assert host.mounts() == [(f"{host.driver}-3", host.driver)]
    assert host.log() == ""


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("create", "-b", "{bundle}", "id"), id="short"),
        pytest.param(("create", "--bundle={bundle}", "id"), id="joined"),
        pytest.param(
            ("--root", "create", "--systemd-cgroup", "create", "--bundle", "{bundle}", "id"), id="misleading"
        ),
        pytest.param(("run", "-d", "--bundle", "{bundle}", "id"), id="run"),
        pytest.param(("create", "id"), id="the current folder"),
    ],
)
def test_the_bundle_is_found_however_it_is_named(host: Host, words: Sequence[str]) -> None:
    given = [word.format(bundle=host.root / "bundle") for word in words]
    host.call(*given, cwd=host.root / "bundle")
    assert len(host.mounts()) == 2
    assert host.arguments() == given


@pytest.mark.parametrize("command", ["restore", "exec", "state", "delete", "start", "--version"])
def test_other_commands_change_nothing(host: Host, command: str) -> None:
    before = host.config.read_bytes()
    assert host.call(command, "--bundle", str(host.root / "bundle"), "id").returncode == 7
    assert host.config.read_bytes() == before


def test_the_runtime_gets_every_word_the_environment_its_streams_and_files(host: Host) -> None:
    odd = ["--x", "", " a  b ", "\n", "ü", "--", "-b", "*", "'\"$"]
    given = {"ODD": "a\nb", "EMPTY": ""}
    with (host.root / "kept").open("wb") as kept:
        number = kept.fileno()
        answer = host.call("exec", *odd, stdin=b"typed", environment=given, files=(number,))
    opened = set((host.root / "called" / "open").read_text().split())
    # One more is the folder that `ls` lists.
    assert {"0", "1", "2", str(number)} < opened
    assert len(opened) == 5
    assert host.arguments() == ["exec", *odd]
    assert (answer.returncode, answer.stdout, answer.stderr) == (7, b"said\n", b"complained\n")
    environment = (host.root / "called" / "environment").read_text()
    assert "ODD=a\nb\0" in environment
    assert "EMPTY=\0" in environment
    assert (host.root / "called" / "input").read_bytes() == b"typed"


def _no_config(host: Host) -> None:
    host.config.unlink()


def _torn(host: Host) -> None:
    host.config.write_text(json.dumps(CARD)[:-1])


def _twice(host: Host) -> None:
    host.config.write_text(json.dumps(CARD)[:-1] + ',"mounts":[],"mounts":[]}')


def _linked(host: Host) -> None:
    host.config.rename(host.root / "elsewhere")
    host.config.symlink_to(host.root / "elsewhere")


def _folder(host: Host) -> None:
    host.config.unlink()
    host.config.mkdir()


def _no_folders(host: Host) -> None:
    host.settings["folders"] = ["opt"]


def _blocked(host: Host) -> None:
    place = host.root / "bundle" / "rootfs" / host.maca.lstrip("/")
    place.parent.mkdir(parents=True)
    place.touch()
    host.settings["folders"] = [host.maca]
    host.tell({**CARD, "root": {"path": "rootfs"}})


@pytest.mark.parametrize("doubt", [_no_config, _torn, _twice, _linked, _folder, _no_folders, _blocked])
def test_on_any_doubt_the_container_starts_as_it_was_and_a_line_says_why(
    host: Host, doubt: Callable[[Host], None]
) -> None:
    doubt(host)
    before = host.config.read_bytes() if host.config.is_file() else b""
    answer = host.create()
    assert (answer.returncode, answer.stdout, answer.stderr) == (7, b"said\n", b"complained\n")
    assert (host.config.read_bytes() if host.config.is_file() else b"") == before
    assert host.log().count("\n") == 1


@pytest.mark.parametrize(
    "settings", ["", "{", "[]", '{"runtime": 1}', '{"runtime": "/none", "folders": []}', "{}"]
)
def test_without_usable_settings_runc_is_found(host: Host, settings: str) -> None:
    (host.root / "runtime.json").write_text(settings)
    host.settings = {}
    (host.root / "bin").mkdir()
    shutil.copy(host.root / "recorder", host.root / "bin" / "runc")
    answer = host.call(
        "create",
        "--bundle",
        str(host.root / "bundle"),
        "id",
        environment={"PATH": f"{host.root}/bin:{os.defpath}"},
    )
    assert answer.returncode == 7
    assert host.mounts() == []


@pytest.mark.parametrize("kind", ["itself", "a link", "a copy"])
def test_it_never_calls_itself(host: Host, kind: str) -> None:
    own = host_programs() / "mx-container-runtime"
    (host.root / "bin").mkdir()
    place = host.root / "bin" / "runc"
    place.symlink_to(own) if kind == "a link" else shutil.copy(own, place)
    host.settings["runtime"] = str(own if kind == "itself" else place)
    shutil.copy(host.root / "recorder", host.root / "bin" / "crun")
    answer = host.call("state", "id", environment={"PATH": f"{host.root}/bin:{os.defpath}"})
    assert (answer.returncode, host.arguments()) == (7, ["state", "id"])
    assert "is " in host.log()


def test_without_any_runtime_it_says_so_in_a_sentence(host: Host) -> None:
    host.settings["runtime"] = "/none"
    host.own_runtimes = False
    answer = host.create()
    assert (answer.returncode, answer.stdout, answer.stderr.count(b"\n")) == (127, b"", 1)
    assert b"there is no runc or crun" in answer.stderr
    (host.root / "broken").write_text("no program")
    (host.root / "broken").chmod(0o755)
    host.settings["runtime"] = str(host.root / "broken")
    answer = host.create()
    assert answer.returncode == 127
    assert b"broken cannot be started: exec format error" in answer.stderr


def test_its_own_words_are_out_of_the_way(host: Host) -> None:
    assert host.call("--mx-version").stdout.decode() == f"mx-container-runtime {VERSION}\n"
    assert b"is called like runc" in host.call("--mx-help").stdout


@pytest.mark.parametrize("card", [True, False])
def test_with_a_real_runc_only_a_container_with_a_card_sees_mxmaca(host: Host, *, card: bool) -> None:
    (host.root / "opt" / "maca-1" / "lib" / "libmcruntime.so").touch()
    host.settings["runtime"] = str(find_binaries().path("runc"))
    (host.root / "bundle" / "rootfs" / "bin").mkdir()
    shutil.copy(static_busybox(), host.root / "bundle" / "rootfs" / "bin" / "busybox")
    script = f"/bin/busybox ls {host.maca}/lib {host.driver}; /bin/busybox touch {host.maca}/x"
    host.tell(
        {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": 0, "gid": 0},
                "args": ["/bin/busybox", "sh", "-c", script],
                "cwd": "/",
            },
            "root": {"path": "rootfs"},
            "linux": {"namespaces": [{"type": "mount"}], **(CARD["linux"] if card else {})},
        }
    )
    answer = host.call(
        "--root", str(host.root / "state"), "run", "-b", str(host.root / "bundle"), f"mx-{card}"
    )
    assert (b"libmcruntime.so" in answer.stdout) is card, answer.stderr
    assert (b"Read-only file system" in answer.stderr) is card
    assert (b"No such file or directory" in answer.stderr) is not card
    assert not (host.root / "opt" / "maca-1" / "x").exists()


def test_the_sources_are_formatted_vetted_and_tested() -> None:
    go = find_go(REPOSITORY / SOURCES)
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOWORK": "off", "GOFLAGS": ""}
    for words in (
        [str(go.program.with_name("gofmt")), "-l", "."],
        [str(go.program), "vet", "./..."],
        [str(go.program), "test", "./..."],
    ):
        answer = subprocess.run(  # noqa: S603 - Go as found on this machine
            words,
            check=False,
            capture_output=True,
            text=True,
            cwd=REPOSITORY / SOURCES,
            env=environment,
            timeout=600,
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert "gofmt" not in words[0] or not answer.stdout
