"""Logins that other tools keep, and the programs they leave them to."""

import base64
import json
import os
from pathlib import Path

import pytest

from tangram.services.images.addresses import Target
from tangram.services.images.errors import ImagesError
from tangram.services.images.logins import Login, find_login, login_files

TARGET = Target("r.example.com:5000", "cloud/gpu")


def packed(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "bin")}


def docker_file(tmp_path: Path, content: object) -> Path:
    return write(tmp_path / "home" / ".docker" / "config.json", content)


def helper(tmp_path: Path, name: str, script: str) -> None:
    path = write(tmp_path / "bin" / f"docker-credential-{name}", f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    "key",
    [
        "r.example.com:5000",
        "https://r.example.com:5000",
        "https://r.example.com:5000/v1/",
        "https://r.example.com:5000/v2/",
        "r.example.com:5000/cloud",
        "r.example.com:5000/cloud/gpu",
    ],
)
def test_a_login_is_found_under_each_name_that_tools_keep_it_under(
    key: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    path = docker_file(tmp_path, {"auths": {"other.example.com": {}, key: {"auth": packed("me", "a:b")}}})
    assert find_login(TARGET, environment) == Login("me", "a:b", str(path))


def test_the_narrowest_name_wins(tmp_path: Path, environment: dict[str, str]) -> None:
    auths = {
        "r.example.com:5000": {"auth": packed("wide", "x")},
        "r.example.com:5000/cloud": {"auth": packed("narrow", "x")},
    }
    docker_file(tmp_path, {"auths": auths})
    found = find_login(TARGET, environment)
    assert found is not None
    assert found.user == "narrow"


def test_dockers_hub_has_a_name_of_its_own(tmp_path: Path, environment: dict[str, str]) -> None:
    docker_file(tmp_path, {"auths": {"https://index.docker.io/v1/": {"auth": packed("me", "x")}}})
    found = find_login(Target("docker.io", "me"), environment)
    assert found is not None
    assert found.user == "me"


def test_helms_and_podmans_logins_count_too_and_dockers_come_first(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    environment["XDG_RUNTIME_DIR"] = str(tmp_path / "run")
    for number, path in reversed(list(enumerate(login_files(environment)))):
        write(path, {"auths": {TARGET.domain: {"auth": packed(f"me{number}", "x")}}})
        found = find_login(TARGET, environment)
        assert found is not None
        assert (found.user, found.source) == (f"me{number}", str(path))
    assert len(login_files(environment)) == 3


def test_the_files_move_where_the_environment_says(tmp_path: Path) -> None:
    told = {
        "HOME": "/h",
        "DOCKER_CONFIG": "/d",
        "HELM_REGISTRY_CONFIG": "/helm.json",
        "REGISTRY_AUTH_FILE": "/podman.json",
    }
    assert login_files(told) == [Path("/d/config.json"), Path("/helm.json"), Path("/podman.json")]
    assert login_files({"HOME": "/h", "HELM_CONFIG_HOME": "/c"})[1] == Path("/c/registry/config.json")
    assert login_files({"HOME": "/h"})[1] == Path("/h/.config/helm/registry/config.json")
    assert find_login(TARGET, {"HOME": str(tmp_path / "nowhere")}) is None


def test_an_identity_token_is_known_as_one(tmp_path: Path, environment: dict[str, str]) -> None:
    entry = {"auth": packed("me", ""), "identitytoken": "abc"}
    path = docker_file(tmp_path, {"auths": {TARGET.domain: entry}})
    assert find_login(TARGET, environment) == Login("me", "abc", str(path), is_token=True)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"credHelpers": {"r.example.com:5000": "keys"}}, id="for this registry"),
        pytest.param({"credsStore": "keys"}, id="for all"),
        pytest.param(
            {"credsStore": "keys", "auths": {"r.example.com:5000": {}}}, id="for all, with an empty entry"
        ),
    ],
)
def test_a_helper_is_asked_for_the_secret(
    content: object, tmp_path: Path, environment: dict[str, str]
) -> None:
    docker_file(tmp_path, content)
    answer = '{"ServerURL":"x","Username":"me","Secret":"from the helper"}'
    helper(
        tmp_path, "keys", f"read -r asked; [ \"$1 $asked\" = 'get r.example.com:5000' ] && echo '{answer}'"
    )
    assert find_login(TARGET, environment) == Login("me", "from the helper", "docker-credential-keys")


def test_a_helper_that_gives_a_token_says_so_by_the_user(tmp_path: Path, environment: dict[str, str]) -> None:
    docker_file(tmp_path, {"credsStore": "keys"})
    helper(tmp_path, "keys", """echo '{"Username":"<token>","Secret":"abc"}'""")
    found = find_login(TARGET, environment)
    assert found is not None
    assert found.is_token


def test_a_helper_that_knows_nothing_leaves_the_next_file(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    docker_file(tmp_path, {"credsStore": "keys"})
    helper(tmp_path, "keys", "echo credentials not found in native keychain; exit 1")
    write(login_files(environment)[1], {"auths": {TARGET.domain: {"auth": packed("helm", "x")}}})
    found = find_login(TARGET, environment)
    assert found is not None
    assert found.user == "helm"


@pytest.mark.parametrize(
    ("content", "script", "words"),
    [
        pytest.param("{", "", "cannot be understood", id="no JSON"),
        pytest.param({"auths": []}, "", "cannot be understood", id="another shape"),
        pytest.param(
            {"auths": {TARGET.domain: {"auth": "%%"}}}, "", "for r.example.com:5000 that", id="no base64"
        ),
        pytest.param(
            {"credsStore": "gone"}, "", "docker-credential-gone, which is not on the PATH", id="no helper"
        ),
        pytest.param({"credsStore": "../x"}, "", "is not on the PATH", id="a helper with a path"),
        pytest.param(
            {"credsStore": "keys"}, "echo locked >&2; exit 3", "failed (locked)", id="a helper that fails"
        ),
        pytest.param({"credsStore": "keys"}, "echo hello", "gave no login", id="a helper that chats"),
    ],
)
def test_what_cannot_be_used_is_said_and_not_passed_over(
    content: object, script: str, words: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    docker_file(tmp_path, content)
    helper(tmp_path, "keys", script)
    with pytest.raises(ImagesError) as raised:
        find_login(TARGET, environment)
    assert words in str(raised.value)
    assert "--user" in str(raised.value)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "home" / ".docker" / "config.json").mkdir(parents=True)
    with pytest.raises(ImagesError, match="Is a directory"):
        find_login(TARGET, environment)


@pytest.mark.parametrize("text", ["", "\n"])
def test_a_file_that_keeps_nothing_yet_is_no_mistake(
    text: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    docker_file(tmp_path, text)
    assert find_login(TARGET, environment) is None


def test_a_file_in_another_encoding_is_named(tmp_path: Path, environment: dict[str, str]) -> None:
    docker_file(tmp_path, "{}").write_bytes(b'{"auths":{"\xff":{}}}')
    with pytest.raises(ImagesError, match=r"config\.json, where logins are kept, cannot be understood"):
        find_login(TARGET, environment)


def test_podmans_file_is_sought_where_it_is_without_a_session(environment: dict[str, str]) -> None:
    assert login_files(environment)[-1] == Path(f"/run/containers/{os.getuid()}/auth.json")
    environment["XDG_RUNTIME_DIR"] = "/run/user/7"
    assert login_files(environment)[-1] == Path("/run/user/7/containers/auth.json")
