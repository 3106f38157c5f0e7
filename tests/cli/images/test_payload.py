"""`tangram images payload`: options, sentences, exit statuses, and that what it makes can be pushed."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from builders.commands import Answer, run
from builders.payload_folders import KERNEL, driver_folder, maca_folder
from builders.registries import RegistryDouble, running
from shipping.bundle.unpacking import NOT_NEEDED


def build(folder: Path, output: Path, *options: str) -> Answer:
    words = ("--kind", "driver", "--version", "2.32.0", "--arch", "amd64", "-o", str(output))
    return run("images", "payload", "build", str(folder), *words, *options)


def test_a_driver_becomes_an_archive(tmp_path: Path) -> None:
    answer = build(driver_folder(tmp_path), tmp_path / "x.tar", "--requires", "drm", "--requires", "ttm")
    assert (answer.status, answer.err) == (0, "")
    assert "tangram.dev/cloud/driver-image:2.32.0" in answer.out
    assert f"driver 2.32.0 for {KERNEL}: 2 files, not signed." in answer.out
    told = json.loads(run("images", "payload", "inspect", str(tmp_path / "x.tar"), "-o", "json").out)
    assert told["payloads"][0]["requires"] == ["drm", "ttm"]
    assert "kernels" in run("images", "payload", "inspect", str(tmp_path / "x.tar")).out


def test_mxmaca_becomes_one_under_its_own_name(tmp_path: Path) -> None:
    folder, output = maca_folder(tmp_path), tmp_path / "x.tar"
    words = ("--kind", "maca", "--version", "2.23.0.4", "--arch", "amd64", "-o", str(output))
    refused = run("images", "payload", "build", str(folder), *words)
    assert (refused.status, refused.out) == (1, "")
    assert "--image is missing" in refused.err
    name = "mxc500-maca:2.23.0.4-ubuntu20.04-amd64"
    assert run("images", "payload", "build", str(folder), *words, "--image", name).status == 0
    assert name.replace(":", " ") in " ".join(run("images", "list", "--archive", str(output)).out.split())


def test_who_asks_for_a_signature_gets_a_status(tmp_path: Path) -> None:
    key, output = tmp_path / "key", tmp_path / "x.tar"
    made = run("images", "payload", "keygen", str(key))
    assert (made.status, made.err) == (0, "")
    inspect = ("images", "payload", "inspect", str(output), "--public-key", f"{key}.pub")
    build(driver_folder(tmp_path), output)
    unsigned = run(*inspect)
    assert unsigned.status == 1
    assert "is not signed by" in unsigned.err
    output.unlink()
    assert build(tmp_path / "driver", output, "--sign", str(key)).status == 0
    assert "yes, by this key" in run(*inspect).out
    assert run("images", "payload", "keygen", str(key)).status == 1


async def test_what_it_makes_can_be_pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    build(driver_folder(tmp_path), tmp_path / "x.tar")
    async with running(RegistryDouble()) as registry:
        words = (
            "images",
            "push",
            f"{registry.domain}/cloud",
            "--archive",
            str(tmp_path / "x.tar"),
            "--plain-http",
        )
        answer = await asyncio.to_thread(run, *words)
    assert answer.status == 0, answer.err
    assert f"{registry.domain}/cloud/driver-image:2.32.0 " in answer.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param(("--kind", "firmware"), "driver or maca", id="kind"),
        pytest.param(("--version", "new"), "one such as 2.32.0", id="version"),
        pytest.param(("--arch", "riscv"), "amd64 or arm64", id="architecture"),
        pytest.param(("-o", "."), "a folder: write the name of a file", id="a folder for output"),
        pytest.param(("--kind", "maca", "--module", "metax"), "MXMACA has no kernel modules", id="modules"),
    ],
)
def test_a_command_line_that_cannot_be_read_ends_with_2(
    tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    words = {"--kind": "driver", "--version": "1", "--arch": "amd64", "-o": str(tmp_path / "x.tar")}
    words |= dict(zip(options[::2], options[1::2], strict=True))
    line = [word for pair in words.items() for word in pair]
    answer = run("images", "payload", "build", str(tmp_path), *line)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err


def test_what_cannot_be_done_ends_with_1_and_a_sentence(tmp_path: Path) -> None:
    answer = build(tmp_path / "gone", tmp_path / "x.tar")
    assert (answer.status, answer.out, answer.err.count("\n")) == (1, "", 1)
    assert "cannot be read (No such file" in answer.err
    answer = build(driver_folder(tmp_path), tmp_path / "x.tar", "--sign", str(tmp_path / "gone"))
    assert (answer.status, answer.err.count("\n")) == (1, 1)
    (tmp_path / "y.tar").write_text("no archive")
    answer = run("images", "payload", "inspect", str(tmp_path / "y.tar"))
    assert (answer.status, answer.err.count("\n")) == (1, 1)


def test_without_the_library_for_signatures_everything_else_works() -> None:
    """The self-extracting file leaves it packed (shipping/bundle/unpacking.py)."""
    modules = ", ".join(
        f"tangram.cli.images.payload.{name}" for name in ("app", "build", "inspect", "keygen")
    )
    code = f"""
import sys
sys.modules.update(dict.fromkeys({NOT_NEEDED!r}))
import {modules}
from pathlib import Path
from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.signing import read_private_key
try:
    read_private_key(Path("x"))
except ImagesError as error:
    print(error)
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "which this copy of the tool lacks" in answer.stdout
