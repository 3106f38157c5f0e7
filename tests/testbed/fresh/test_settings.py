"""Settings about the network are handed to the bare Debian; everything else of this machine is not."""

from pathlib import Path

import pytest

from testbed.fresh.settings import is_passed, named_paths, pip_variables


def test_settings_of_pip_become_its_variables_and_later_ones_win() -> None:
    lines = ["global.cert='/a'", "global.index-url='https://m.example/simple'", ":env:.cert='/b'", "nonsense"]
    assert pip_variables(lines) == {"PIP_CERT": "/b", "PIP_INDEX_URL": "https://m.example/simple"}


def test_settings_of_other_commands_of_pip_are_not_for_every_command() -> None:
    assert pip_variables(["wheel.no-deps='true'", "install.prefer-binary='true'"]) == {
        "PIP_PREFER_BINARY": "true"
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("https_proxy", True),
        ("HTTP_PROXY", True),
        ("NO_PROXY", True),
        ("PIP_CERT", True),
        ("SSL_CERT_FILE", True),
        ("CI", True),
        ("PIP_CACHE_DIR", False),
        ("PATH", False),
        ("HOME", False),
        ("VIRTUAL_ENV", False),
    ],
)
def test_only_the_network_and_ci_are_passed(name: str, expected: bool) -> None:  # noqa: FBT001 - a table
    assert is_passed(name) is expected


def test_paths_that_exist_are_bound(tmp_path: Path) -> None:
    present = tmp_path / "wheels"
    present.mkdir()
    assert named_paths([f"{present} /nowhere/at/all", "https://m.example", "180", str(present)]) == (present,)


def test_a_path_inside_of_another_is_bound_with_it(tmp_path: Path) -> None:
    certificate = tmp_path / "certs" / "all.crt"
    certificate.parent.mkdir()
    certificate.touch()
    assert named_paths([str(certificate), str(certificate.parent)]) == (certificate.parent,)
