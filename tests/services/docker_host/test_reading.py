"""What is taken out of a command line, and that nothing else is."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.docker_lines import lines
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.option_table import RUN, Kinds, options_in_help
from tangram.services.docker_host.reading import Start, may_ask_us, read_command, read_start

LINES = 500
SEED = 105


def unasked() -> Kinds:
    raise AssertionError("the engine's help is asked only for what the table lacks")


def nothing_more() -> Kinds:
    return Kinds({}, {})


def left_of(words: tuple[str, ...]) -> tuple[tuple[str, ...], Start | None]:
    command = read_command(words)
    if not command.starts_container or not may_ask_us(command.rest):
        return (*command.before, *command.verb, *command.rest), None
    start = read_start(command.rest, unasked)
    return (*command.before, *command.verb, *start.words), start


def test_five_hundred_docker_command_lines_come_through_with_nothing_but_our_options_gone() -> None:
    made = lines(LINES, SEED)
    assert len({line.written for line in made}) > LINES * 0.9
    assert sum(bool(line.ours) for line in made) > LINES / 2
    for line in made:
        left, start = left_of(line.written)
        assert left == line.wanted, line.written
        found = frozenset[str]()
        if start is not None:
            assert start.image == line.image, line.written
            asked = {"gpus": start.gpus, "maca": start.maca, "maca-force": start.force or None}
            found = frozenset(name for name, value in asked.items() if value is not None)
        assert found == line.ours, line.written


@given(st.integers(min_value=0))
def test_so_does_every_other_line(seed: int) -> None:
    for line in lines(3, seed):
        assert left_of(line.written)[0] == line.wanted


@given(st.lists(st.text()))
def test_any_words_at_all_are_understood_or_refused_with_a_sentence(words: list[str]) -> None:
    try:
        command = read_command(["run", *words])
        start = read_start(command.rest, nothing_more)
    except HostError as error:
        said = str(error)
    else:
        said = f"{start.words}."
        assert len(start.words) <= len(words)
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("words", "left", "gpus"),
    [
        pytest.param(("-it", "--gpus", "all", "img"), ("-it", "img"), "all", id="separate-value"),
        pytest.param(("-gpus=2", "img"), ("img",), "2", id="one-dash"),
        pytest.param(("img", "--gpus=2"), ("img", "--gpus=2"), None, id="behind-the-image"),
        pytest.param(("-e", "--gpus=2", "img"), ("-e", "--gpus=2", "img"), None, id="value-of-another"),
        pytest.param(("--", "img", "--gpus=2"), ("--", "img", "--gpus=2"), None, id="behind-two-dashes"),
        pytest.param(("--", "--gpus=2"), ("--", "--gpus=2"), None, id="image-that-looks-like-ours"),
        pytest.param(
            ("-itv", "/a:/b", "--gpus=1", "img"), ("-itv", "/a:/b", "img"), "1", id="joined-letters"
        ),
        pytest.param(("-itv/a:/b", "--gpus=1", "img"), ("-itv/a:/b", "img"), "1", id="joined-value"),
        pytest.param(("-i=false", "--gpus=1", "img"), ("-i=false", "img"), "1", id="switch-with-value"),
        pytest.param(("-m", "1g", "--gpus=", "img"), ("-m", "1g", "img"), "", id="empty-value"),
        pytest.param(("-", "--gpus=1"), ("-", "--gpus=1"), None, id="a-dash-is-an-image"),
    ],
)
def test_where_an_option_of_ours_is_one(
    words: tuple[str, ...], left: tuple[str, ...], gpus: str | None
) -> None:
    start = read_start(words, unasked)
    assert (start.words, start.gpus) == (left, gpus)


def test_what_is_not_in_the_table_is_looked_up_in_the_help_of_the_engine() -> None:
    start = read_start(("--shiny", "--gpus=all", "--gpus=1", "img"), lambda: Kinds({"shiny": True}, {}))
    assert (start.words, start.gpus, start.image) == (("--shiny", "--gpus=all", "img"), "1", "img")


def test_what_nobody_knows_ends_the_reading_and_docker_says_what_is_wrong() -> None:
    start = read_start(("--gpus=1", "--shinny", "--maca", "x", "img"), nothing_more)
    assert start.unknown == "--shinny"
    assert start.words == ("--shinny", "--maca", "x", "img")
    assert read_start(("-Z", "img"), nothing_more).unknown == "-Z"


@pytest.mark.parametrize(
    ("read", "sentence"),
    [
        pytest.param(
            lambda: read_start(("--gpus",), unasked), "--gpus has no value: write --gpus=all", id="gpus"
        ),
        pytest.param(
            lambda: read_start(("-maca",), unasked), "--maca has no value: write --maca=VERSION", id="maca"
        ),
        pytest.param(
            lambda: read_start(("--gpus=1", "-gpus=2", "i"), unasked), "--gpus stands twice", id="twice"
        ),
        pytest.param(lambda: read_start(("--maca-force=yes", "i"), unasked), "it is a switch", id="switch"),
        pytest.param(lambda: read_command(("--engine",)), "--engine has no value", id="own-value"),
        pytest.param(lambda: read_command(("--dry-run=perhaps", "run")), "it is a switch", id="own-switch"),
    ],
)
def test_an_option_of_ours_that_cannot_be_read_is_a_sentence(
    read: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(HostError, match=sentence):
        read()


def test_our_options_before_the_command_are_taken_out_wherever_they_stand_there() -> None:
    command = read_command(
        ("--dry-run", "-H", "x", "--engine=podman", "--driver", "auto", "container", "run", "img")
    )
    assert command.own == {"dry-run": "true", "engine": "podman", "driver": "auto"}
    assert (command.before, command.verb, command.rest) == (("-H", "x"), ("container", "run"), ("img",))


def test_an_unknown_option_before_the_command_leaves_the_whole_line_alone() -> None:
    command = read_command(("--shiny", "run", "--gpus=all", "img"))
    assert not command.starts_container
    assert command.rest == ("--shiny", "run", "--gpus=all", "img")


def test_a_help_page_tells_which_options_take_a_value() -> None:
    page = """Usage:  docker run [OPTIONS] IMAGE
Options:
      --add-host list                  Add a custom host-to-IP mapping
                                       (host:ip)
  -d, --detach                         Run container in background
  -e, --env list                       Set environment variables
      --health-start-interval duration   Time between running the check
      --sig-proxy                      Proxy received signals (default true)
"""
    found = options_in_help(page)
    assert found.long == {
        "add-host": True,
        "detach": False,
        "env": True,
        "health-start-interval": True,
        "sig-proxy": False,
    }
    assert found.short == {"d": False, "e": True}
    assert all(RUN.long[name] == takes for name, takes in found.long.items())
