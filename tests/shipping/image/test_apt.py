"""apt with a state of its own, for any platform, from whatever mirrors the machine uses."""

from pathlib import Path

import pytest

from builders.packages import fake_program
from shipping.image.apt import Apt
from shipping.image.errors import ImageError
from shipping.image.platforms import platform_named
from shipping.image.sources import Source, read_sources, source_lines

TARGETS = [
    "Packages|http://mirror.example/debian/|bookworm|main",
    "DEP-11|http://mirror.example/debian/|bookworm|main",
    "Packages|http://mirror.example/debian/|bookworm|contrib",
    "Packages|http://mirror.example/security/|bookworm-security|main",
    "Packages|http://other.example/|stable|main",
]


def test_only_mirrors_of_our_release_are_used() -> None:
    assert read_sources(TARGETS) == [
        Source("http://mirror.example/debian/", "bookworm"),
        Source("http://mirror.example/security/", "bookworm-security"),
    ]


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        pytest.param(TARGETS[4:], "name stable but not bookworm", id="another release"),
        pytest.param([], "name no release at all but not bookworm", id="none"),
        pytest.param(TARGETS[3:4], "bookworm-security but not bookworm", id="only its security updates"),
    ],
)
def test_a_machine_without_mirrors_of_our_release_is_told_what_to_add(lines: list[str], named: str) -> None:
    with pytest.raises(ImageError, match=f"{named}: add a source for bookworm"):
        read_sources(lines)


def test_debians_keys_alone_are_trusted_where_they_are_installed(tmp_path: Path) -> None:
    keyring = tmp_path / "debian.gpg"
    source = [Source("http://m/", "bookworm")]
    assert source_lines(source, keyring) == "deb http://m/ bookworm main\n"
    keyring.write_bytes(b"")
    assert source_lines(source, keyring) == f"deb [signed-by={keyring}] http://m/ bookworm main\n"


ANSWERS = """
echo "$@" >> {folder}/calls
case "$*" in
  *indextargets*) echo 'Packages|http://mirror.example/|bookworm|main';;
  *--print-uris*)
    echo "'http://m/p/zlib1g_1.2_arm64.deb' zlib1g_1%3a1.2.13_arm64.deb 82744 MD5Sum:6ba"
    echo "'http://m/p/libc6_2.36-9%2bdeb12u14_arm64.deb' libc6_2.36-9+deb12u14_arm64.deb 2324660 ";;
  *download*) touch libc6.deb;;
esac
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tools"
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_apt_answers_for_another_platform_and_leaves_this_machine_alone(tools: Path, tmp_path: Path) -> None:
    fake_program(tools, "apt-get", ANSWERS.format(folder=tools))
    apt = Apt(tmp_path / "state", platform_named("arm64"))
    apt.update()
    assert apt.closure(["libc6"]) == ["libc6=2.36-9+deb12u14", "zlib1g=1:1.2.13"]
    apt.download(["libc6=2.36-9+deb12u14"], tmp_path)
    assert (tmp_path / "libc6.deb").exists()
    for call in (tools / "calls").read_text().splitlines()[1:]:
        assert "APT::Architecture=arm64" in call
        assert f"Dir::State={tmp_path}/state" in call
        assert f"Dir::State::status={tmp_path}/state/status" in call


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        pytest.param(
            "Temporary failure resolving", "mirrors of this machine's apt cannot be reached", id="no network"
        ),
        pytest.param("E: Unable to locate package x", "have no such package for arm64", id="no such package"),
        pytest.param(
            "E: odd", "could not fetch the packages for arm64; it said:\nE: odd", id="anything else"
        ),
    ],
)
def test_a_failure_of_apt_is_said_in_a_sentence(
    tools: Path, tmp_path: Path, said: str, sentence: str
) -> None:
    fake_program(tools, "apt-get", f"echo '{said}' >&2; exit 100")
    with pytest.raises(ImageError, match=sentence):
        Apt(tmp_path / "state", platform_named("arm64")).closure(["x"])


def test_without_apt_another_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match=r"needs `apt-get`, which this machine lacks.*Debian container"):
        Apt(tmp_path / "state", platform_named("amd64")).update()
