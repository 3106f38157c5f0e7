"""DOMAIN/PROJECT: what is taken, and what is said about the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.services.images.addresses import AddressError, Target, read_target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("registry.example.com/cloud", Target("registry.example.com", "cloud")),
        ("registry.example.com:5000/a/b-c/d_e.f", Target("registry.example.com:5000", "a/b-c/d_e.f")),
        ("localhost/cloud", Target("localhost", "cloud")),
        ("harbor:8443/x", Target("harbor:8443", "x")),
        ("[::1]:5000/x", Target("[::1]:5000", "x")),
        ("10.0.0.1/cloud/", Target("10.0.0.1", "cloud")),
        ("Registry.Example.com/cloud", Target("Registry.Example.com", "cloud")),
    ],
)
def test_a_domain_and_a_project_are_read(text: str, target: Target) -> None:
    assert read_target(text) == target


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("registry.example.com", "such as registry.example.com/cloud", id="no project"),
        pytest.param("registry.example.com/", "names no project", id="only a slash"),
        pytest.param("cloud", "has no domain", id="one word"),
        pytest.param("library/cloud", "has no domain", id="a word before the slash"),
        pytest.param("", "has no domain", id="nothing"),
        pytest.param("https://r.example.com/cloud/", "such as r.example.com/cloud.", id="a scheme"),
        pytest.param("http://r.example.com/c", "such as r.example.com/c, and --plain-http", id="plain http"),
        pytest.param("oci://r.example.com/c", "begins with oci://", id="as helm writes it"),
        pytest.param("r.example.com/Cloud", "write cloud", id="upper case"),
        pytest.param("r.example.com/a b", "name one that is", id="a blank"),
        pytest.param("r.example.com/a//b", "name one that is", id="two slashes"),
        pytest.param("r.example.com/-a", "name one that is", id="a hyphen in front"),
        pytest.param("r.example.com/cloud:1.0", "has a tag or digest", id="a tag"),
        pytest.param("r.example.com/cloud@sha256:0", "has a tag or digest", id="a digest"),
        pytest.param("r.example.com:99999/cloud", "is no domain", id="a port that cannot be"),
        pytest.param("r.example.com:0/cloud", "is no domain", id="port nothing"),
        pytest.param("[:::::]/cloud", "is no domain", id="colons in brackets"),
        pytest.param("[1:2]:5000/cloud", "is no domain", id="half an address"),
        pytest.param("r..com/cloud", "is no domain", id="two dots"),
        pytest.param(f"r.example.com/{'a' * 201}", "it may have 200", id="too long"),
    ],
)
def test_anything_else_is_answered_with_what_to_write(text: str, words: str) -> None:
    with pytest.raises(AddressError) as raised:
        read_target(text)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "text", ["me:secret@r.example.com/cloud", "https://me:secret@r.example.com/c", "me:x@secret@"]
)
def test_a_password_in_an_address_is_not_taken_and_not_told(text: str) -> None:
    with pytest.raises(AddressError, match="--password-stdin") as raised:
        read_target(text)
    assert "secret" not in str(raised.value)


def test_a_registry_that_answers_elsewhere_is_asked_there() -> None:
    assert read_target("docker.io/me").host == "registry-1.docker.io"
    assert read_target("r.example.com/me").host == "r.example.com"


@given(st.text(max_size=60))
def test_whatever_is_written_is_read_or_refused_in_a_sentence(text: str) -> None:
    try:
        told = str(read_target(text))
    except AddressError as error:
        told = str(error)
    assert told.endswith(".") or told == text.removesuffix("/")
