"""What the command line promises before any command is named."""

import subprocess
import sys
from pathlib import Path

import pytest

import tangram

COMMAND = Path(sys.executable).with_name("tangram")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, check=False, text=True, timeout=60)


def test_version_is_printed_alone() -> None:
    answer = run("--version")
    assert (answer.returncode, answer.stdout) == (0, f"{tangram.__version__}\n")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_teaches(arguments: tuple[str, ...]) -> None:
    answer = run(*arguments)
    assert answer.returncode == 0
    assert "MetaX and Moore Threads" in answer.stdout
    for status in (
        "0 done",
        "1 the answer is no",
        "2 the input could not be read",
        "3 there is no card to ask about",
    ):
        assert status in answer.stdout


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_the_help_of_a_command_shows_examples_that_can_be_pasted(command: str) -> None:
    answer = run(command, "--help")
    assert answer.returncode == 0
    examples = [line for line in answer.stdout.splitlines() if line.startswith("  ") and "tangram " in line]
    assert len(examples) >= 3
    assert all(f"tangram {command} " in example for example in examples)


@pytest.mark.parametrize("arguments", [("frobnicate",), ("--no-such-option",)])
def test_an_unreadable_command_line_ends_with_2_and_quotes_what_was_read(arguments: tuple[str, ...]) -> None:
    answer = run(*arguments)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert arguments[0] in answer.stderr


def test_importing_the_command_line_does_not_import_the_engine() -> None:
    """A daemon that restarts with its node must not wait for numpy to load when it does not need it."""
    code = "import sys, tangram.cli.app; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_a_reader_that_stops_early_is_no_error() -> None:
    shell = f"'{COMMAND}' explain --help | head -n 1"
    answer = subprocess.run(["bash", "-c", shell], capture_output=True, check=False, text=True, timeout=60)
    assert answer.stdout.startswith("Usage:")
    assert answer.stderr == ""
