"""After a form people go on to a page of ours, whatever stands in the address that led them there."""

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.web.going_back import after_sign_in, asking_again, local_path


@pytest.mark.parametrize("path", ["/", "/pods", "/nodes/gpu-1?pod=a/b", "/?q=x&page=2", "/pods#top", "/a//b"])
def test_pages_of_ours_are_gone_back_to(path: str) -> None:
    assert after_sign_in(path) == path


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("https://evil.example/", id="another site"),
        pytest.param("//evil.example/", id="another site by two slashes"),
        pytest.param("/\\evil.example/", id="a backslash that browsers repair"),
        pytest.param("\\\\evil.example", id="two of them"),
        pytest.param("/\t/evil.example", id="a tab that browsers drop"),
        pytest.param("/\n/evil.example", id="a line end"),
        pytest.param("/pods\r\nSet-Cookie: a=b", id="a header"),
        pytest.param("javascript:alert(1)", id="a script"),
        pytest.param(" /pods", id="a space before"),
        pytest.param("pods", id="relative"),
        pytest.param("/节点", id="not ASCII"),
        pytest.param("/" + "a" * 3000, id="endless"),
        pytest.param("/sign-in?back=/sign-in", id="a circle"),
        pytest.param("/sign-out", id="no page"),
        pytest.param("/cards/cordon", id="a form's own path"),
    ],
)
def test_everything_else_is_the_first_page(text: str) -> None:
    assert after_sign_in(text) == "/"


@given(st.text(alphabet=st.sampled_from("/\\\t\n\r :@?#.%eE2fFhtpsjavcript-"), max_size=30))
def test_no_text_leads_to_another_host(text: str) -> None:
    place = local_path(text)
    assert place.startswith("/")
    assert not place.startswith(("//", "/\\"))
    # As browsers do it: tabs and line ends are dropped, backslashes are slashes.
    repaired = "".join(each for each in place if each not in "\t\r\n").replace("\\", "/")
    assert urlsplit(repaired).netloc == ""
    assert urlsplit(repaired).scheme == ""


def test_who_is_asked_to_sign_in_comes_back_to_the_same_question() -> None:
    there = asking_again("/nodes/gpu-1?pod=a/b&x=1#z", why="idle")
    assert parse_qs(urlsplit(there).query) == {"back": ["/nodes/gpu-1?pod=a/b&x=1#z"], "why": ["idle"]}
    assert asking_again("/") == "/sign-in"
