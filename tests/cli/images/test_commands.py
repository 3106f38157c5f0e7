"""`tangram images`: options, sentences and exit statuses; what is done behind them is tested where it is done."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from builders.commands import run
from builders.image_archives import index_archive
from builders.registries import PASSWORD, USER, RegistryDouble, running
from builders.saved_images import SINCE, SINCE_FILE, saved_archive
from shipping.bundle.unpacking import NOT_NEEDED
from tangram.cli.failures import InputError
from tangram.cli.images.progress import megabytes
from tangram.cli.images.push import push

NOWHERE = ("registry.example.com/cloud", "--archive", "x.tar")


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DOCKER_CONFIG", "HELM_REGISTRY_CONFIG", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    return index_archive(tmp_path)


async def pushing(
    archive: Path, double: RegistryDouble, *options: str, stdin: str = ""
) -> tuple[int, str, str]:
    async with running(double) as registry:
        words = (
            "images",
            "push",
            f"{registry.domain}/cloud",
            "--archive",
            str(archive),
            "--plain-http",
            *options,
        )
        answer = await asyncio.to_thread(run, *words, stdin=stdin)
    return answer.status, answer.out, answer.err


async def test_a_push_prints_what_can_be_pulled_and_how_it_got_there(archive: Path) -> None:
    double = RegistryDouble()
    status, out, err = await pushing(archive, double)
    assert status == 0, err
    assert f"{double.domain}/cloud/tangram:1.2.3 " in out
    assert "linux/amd64, linux/arm64" in out
    assert out.splitlines()[0].split() == ["IMAGE", "PLATFORMS", "DIGEST", "STATE"]
    assert err.count(" pushed (") == 5


async def test_a_password_comes_from_standard_input(archive: Path) -> None:
    options = ("--user", USER, "--password-stdin")
    status, _, err = await pushing(archive, RegistryDouble("basic"), *options, stdin=f"{PASSWORD}\n")
    assert status == 0, err


async def test_a_refusal_is_one_line_and_ends_with_1(archive: Path) -> None:
    status, out, err = await pushing(archive, RegistryDouble("basic"))
    assert (status, out) == (1, "")
    assert err.startswith("tangram: 127.0.0.1:")
    assert "docker login" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(("push", "cloud", "--archive", "x"), "'cloud' has no domain", id="no domain"),
        pytest.param(("push", *NOWHERE, "--user", "me"), "belong together", id="a user without a password"),
        pytest.param(
            ("push", *NOWHERE, "--password-stdin"), "belong together", id="a password without a user"
        ),
        pytest.param(
            ("push", *NOWHERE, "--user", "me:secret", "--password-stdin"),
            "a name has no colon",
            id="both in one",
        ),
        pytest.param(
            ("push", *NOWHERE, "--plain-http", "--ca", "x"), "leave one of the two out", id="ca without tls"
        ),
        pytest.param(("push", "--archive", "x"), "DOMAIN/PROJECT requires an argument", id="no target"),
        pytest.param(("push", "registry.example.com/cloud"), "--archive", id="no archive"),
        pytest.param(
            ("load", "--archive", "x", "--runtime", "rkt"), "auto, containerd, docker or podman", id="runtime"
        ),
        pytest.param(("list", "--archive", "x", "-o", "xml"), "table, json or yaml", id="format"),
    ],
)
def test_a_command_line_that_cannot_be_read_ends_with_2(words: tuple[str, ...], sentence: str) -> None:
    answer = run("images", *words)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err


def test_an_empty_password_is_not_sent() -> None:
    answer = run("images", "push", *NOWHERE, "--user", "me", "--password-stdin", stdin="\n")
    assert (answer.status, answer.out) == (2, "")
    assert "found nothing on standard input" in answer.err


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_a_password_in_another_encoding_is_not_sent(errors: str, tmp_path: Path) -> None:
    """Python reads standard input in either way, by the locale."""
    typed = tmp_path / "typed"
    typed.write_bytes(b"gr\xfc\xdf\n")
    with typed.open(encoding="utf-8", errors=errors) as stdin, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        with pytest.raises(InputError, match="no text in UTF-8"):
            push(NOWHERE[0], archive=tmp_path / "x", user="me", password_stdin=True)


@pytest.mark.parametrize("command", [("push", "registry.example.com/cloud"), ("load",), ("list",)])
def test_an_archive_that_cannot_be_read_ends_with_1(command: tuple[str, ...], tmp_path: Path) -> None:
    broken = tmp_path / "x.tar"
    broken.write_bytes(b"hello")
    for path, words in ((broken, "is no whole archive"), (tmp_path / "gone.tar", "cannot be opened")):
        answer = run("images", *command, "--archive", str(path))
        assert (answer.status, answer.out) == (1, "")
        assert words in answer.err


def test_a_list_is_for_people_and_for_programs(archive: Path) -> None:
    table = run("images", "list", "--archive", str(archive))
    assert [line.split()[2] for line in table.out.splitlines()] == [
        "PLATFORM",
        "all",
        "linux/amd64",
        "linux/arm64",
    ]
    (image,) = json.loads(run("images", "list", "--archive", str(archive), "-o", "json").out)["images"]
    assert (image["name"], image["version"]) == ("tangram.dev/cloud/tangram", "1.2.3")
    assert {one["platform"] for one in image["platforms"]} == {"linux/amd64", "linux/arm64"}


def test_sizes_are_told_as_people_say_them() -> None:
    assert [megabytes(size) for size in (1234, 1_234_567)] == ["1.2 kB", "1.2 MB"]


def test_the_commands_run_without_what_the_tool_does_not_unpack() -> None:
    """The self-extracting file leaves these packages packed (shipping/bundle/unpacking.py)."""
    modules = ("app", "images.app", "images.push", "images.load", "images.listing", "images.verify")
    code = f"""
import sys
sys.modules.update(dict.fromkeys({NOT_NEEDED!r}))
import {", ".join(f"tangram.cli.{module}" for module in modules)}
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")


async def verifying(archive: Path, registry: RegistryDouble, *options: str) -> tuple[int, str, str]:
    place = (f"{registry.domain}/cloud", "--plain-http")
    words = ("images", "verify", *place, "--archive", str(archive), *options)
    answer = await asyncio.to_thread(run, *words)
    return answer.status, answer.out, answer.err


async def test_verify_says_of_a_registry_what_it_has_and_what_it_lacks(archive: Path) -> None:
    async with running(RegistryDouble()) as registry:
        place = f"{registry.domain}/cloud"
        pushed = ("images", "push", place, "--archive", str(archive), "--plain-http")
        assert (await asyncio.to_thread(run, *pushed)).status == 0
        assert (await verifying(archive, registry))[0::2] == (0, "")
        status, out, err = await verifying(archive, registry, "--read", "-o", "json")
        assert (status, err) == (0, "")
        answer = json.loads(out)
        assert answer["well"]
        assert {one["state"] for one in answer["findings"]} == {"whole"}
        gone = next(iter(registry.blobs))
        del registry.blobs[gone]
        status, out, err = await verifying(archive, registry)
        assert status == 1
        assert out.splitlines()[0].split() == ["WHAT", "WHERE", "STATE"]
        assert f"{place} is not what {archive} holds: {gone[:19]} is missing; push again." in err
        assert err.count("\n") == 1
        status, out, _ = await verifying(archive, registry, "-o", "json")
        assert (status, json.loads(out)["well"]) == (1, False)


def test_verify_says_of_a_file_whether_it_is_whole(archive: Path) -> None:
    answer = run("images", "verify", "--archive", str(archive))
    assert (answer.status, answer.err) == (0, "")
    content = bytearray(archive.read_bytes())
    content[content.index(b"\x1f\x8b") + 40] ^= 1
    archive.write_bytes(bytes(content))
    answer = run("images", "verify", "--archive", str(archive))
    assert answer.status == 1
    assert "is not what it should be; copy it again" in answer.err
    answer = run("images", "verify", "--archive", str(archive), "--read")
    assert answer.status == 2
    assert "none is named" in answer.err


def test_a_file_of_mxmaca_is_listed_as_it_is(tmp_path: Path) -> None:
    path = saved_archive(tmp_path / SINCE_FILE)
    answer = run("images", "list", "--archive", str(path), "-o", "json")
    assert (answer.status, answer.err) == (0, "")
    (image,) = json.loads(answer.out)["images"]
    assert f"{image['name']}:{image['version']}" == SINCE
