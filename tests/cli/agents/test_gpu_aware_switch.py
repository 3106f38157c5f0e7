"""`tangram gpu-aware enable` and `disable` on files."""

import io
import stat
import subprocess
from pathlib import Path

import pytest

from builders.commands import Answer, run
from builders.scheduler_manifests import BARE, BY_HAND, KUBEADM
from builders.system_programs import patch_program

URL = "http://10.96.0.20:8080"


class Host:
    """A control-plane node's files, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.manifests = folder / "manifests"
        self.manifest = self.manifests / "kube-scheduler.yaml"
        self.config = folder / "metax" / "extender.yaml"
        self.backup = folder / "metax" / "kube-scheduler.yaml.before-gpu-aware"
        self.manifests.mkdir()
        self.manifest.write_text(KUBEADM)
        self.manifest.chmod(0o600)

    def files(self) -> dict[str, bytes]:
        found = [
            *self.manifests.iterdir(),
            *(self.config.parent.iterdir() if self.config.parent.exists() else ()),
        ]
        return {path.name: path.read_bytes() for path in found}

    def enable(self, *more: str) -> Answer:
        return self.run("enable", "--extender-url", URL, *more)

    def run(self, verb: str, *more: str, stdin: str = "") -> Answer:
        where = ("--manifest", str(self.manifest), "--config", str(self.config))
        return run("gpu-aware", verb, *where, *more, stdin=stdin)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_there_and_back_leaves_the_manifest_byte_for_byte_and_nothing_beside_it(host: Host) -> None:
    on = host.enable("--yes")
    assert (on.status, on.out.count("+++ ")) == (0, 2)
    assert f"the manifest from before is kept in {host.backup}" in on.err
    assert f"+    - --config={host.config}\n" in on.out
    assert set(host.files()) == {"kube-scheduler.yaml", host.config.name, host.backup.name}
    assert [path.name for path in host.manifests.iterdir()] == ["kube-scheduler.yaml"]
    off = host.run("disable", "--yes")
    assert off.status == 0
    assert f"{host.config} stays" in off.err
    assert host.manifest.read_text() == KUBEADM
    assert set(host.files()) == {"kube-scheduler.yaml", host.config.name}


def test_rights_and_owner_of_the_manifest_stay(host: Host) -> None:
    before = host.manifest.stat()
    assert host.enable("--yes").status == 0
    after = host.manifest.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (0o600, before.st_uid, before.st_gid)
    assert stat.S_IMODE(host.config.stat().st_mode) == 0o644


def test_doing_it_twice_is_nothing_to_do(host: Host) -> None:
    assert host.enable("--yes").status == 0
    before = host.files()
    again = host.enable("--yes")
    assert (again.status, again.out, again.err) == (0, "", "tangram: nothing is left to do.\n")
    assert host.files() == before
    assert host.run("disable", "--yes").status == 0
    before = host.files()
    assert host.run("disable", "--yes").err == "tangram: nothing is left to do.\n"
    assert host.files() == before


@pytest.mark.parametrize("text", [KUBEADM, BY_HAND, BARE], ids=["kubeadm", "by hand", "bare"])
def test_the_printed_patch_changes_nothing_by_itself_and_is_what_would_have_been_done(
    host: Host, text: str
) -> None:
    host.manifest.write_text(text)
    host.config.parent.mkdir()
    before = host.files()
    printed = host.enable("--print-patch", "--scheduler-version", "1.30")
    assert (printed.status, printed.err) == (0, "")
    assert host.files() == before
    subprocess.run(
        [patch_program(), "--quiet", "-p1", "-d", "/"],
        input=printed.out.encode(),
        check=True,
        capture_output=True,
    )
    patched = host.manifest.read_bytes(), host.config.read_bytes()
    host.manifest.write_text(text)
    host.config.unlink()
    assert host.enable("--yes", "--scheduler-version", "1.30").status == 0
    assert (host.manifest.read_bytes(), host.config.read_bytes()) == patched


def test_a_manifest_that_does_not_say_the_version_is_left_alone_until_the_version_is_named(
    host: Host,
) -> None:
    host.manifest.write_text(BARE)
    refused = host.enable("--yes")
    assert (refused.status, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert str(host.manifest) in refused.err
    assert "write --scheduler-version 1.30" in refused.err
    assert host.files() == {"kube-scheduler.yaml": BARE.encode()}
    assert host.enable("--yes", "--scheduler-version", "v1.24.3").status == 0
    assert host.config.read_text().startswith("apiVersion: kubescheduler.config.k8s.io/v1beta3\n")


def test_nobody_there_to_be_asked_is_told_what_to_write(host: Host) -> None:
    answer = host.enable()
    assert answer.status == 2
    assert "write --yes to change it, or --print-patch" in answer.err
    assert host.files() == {"kube-scheduler.yaml": KUBEADM.encode()}


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("YES\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_a_person_is_asked(host: Host, monkeypatch: pytest.MonkeyPatch, typed: str, status: int) -> None:
    real = io.TextIOWrapper

    def terminal(buffer: io.BytesIO, encoding: str) -> io.TextIOWrapper:
        return Terminal(buffer, encoding) if buffer.getvalue() == typed.encode() else real(buffer, encoding)

    monkeypatch.setattr("builders.commands.io.TextIOWrapper", terminal)
    answer = host.run("enable", "--extender-url", URL, stdin=typed)
    assert (answer.status, "[y/N]" in answer.err) == (status, True)
    assert host.config.exists() == (status == 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(("--yes", "--print-patch"), "keep one of the two", id="both"),
        pytest.param(("--yes", "--extender-url", "x"), "it is http:// or https://", id="no URL"),
        pytest.param(("--yes", "--manifest", "/nowhere/x.yaml"), "which does not exist", id="no manifest"),
        pytest.param(("--yes", "--manifest", "/"), "cannot be read (Is a directory)", id="a folder"),
        pytest.param(
            ("--yes", "--config", "relative.yaml"), "it is a whole path", id="a relative configuration"
        ),
    ],
)
def test_a_wrong_command_line_is_one_sentence(host: Host, arguments: tuple[str, ...], sentence: str) -> None:
    given = {"--manifest": str(host.manifest), "--config": str(host.config), "--extender-url": URL}
    options = dict(zip(arguments[1::2], arguments[2::2], strict=False)) if len(arguments) > 2 else {}
    flags = [word for word in arguments if word in ("--yes", "--print-patch")]
    words = [word for pair in (given | options).items() for word in pair]
    answer = run("gpu-aware", "enable", *words, *flags)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert sentence in answer.err
    assert host.manifest.read_text() == KUBEADM


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a" * (2 << 20), b"", b"kind: Pod"])
def test_a_file_that_is_no_manifest_is_refused_with_one_sentence_naming_it(
    host: Host, content: bytes
) -> None:
    host.manifest.write_bytes(content)
    answer = host.enable("--yes")
    assert (answer.status, answer.err.count("\n"), answer.out) == (2, 1, "")
    assert str(host.manifest) in answer.err
    assert host.manifest.read_bytes() == content


def test_a_manifest_reached_by_a_link_is_changed_where_it_is(host: Host, tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to(host.manifest)
    answer = run(
        "gpu-aware",
        "enable",
        "--manifest",
        str(link),
        "--config",
        str(host.config),
        "--extender-url",
        URL,
        "--yes",
    )
    assert answer.status == 0
    assert link.is_symlink()
    assert "--config=" in host.manifest.read_text()


def test_a_folder_that_cannot_be_written_to_changes_nothing(host: Host) -> None:
    answer = run(
        "gpu-aware", "enable", "--manifest", str(host.manifest), "--config", "/proc/metax/extender.yaml",
        "--extender-url", URL, "--yes",
    )  # fmt: skip
    assert answer.status == 2
    assert "cannot be written" in answer.err
    assert "nothing was changed" in answer.err
    assert host.manifest.read_text() == KUBEADM
