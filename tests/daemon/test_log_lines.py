"""One record is one line, whatever was logged."""

import json
import logging
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.daemon.log_lines import JsonLines, TextLines


def record(
    message: object, *arguments: object, level: int = logging.INFO, **extra: object
) -> logging.LogRecord:
    made = logging.LogRecord("tangram.test", level, "here.py", 1, message, arguments, None)
    made.created = 1_700_000_000.0625
    made.__dict__.update(extra)
    return made


def test_a_json_line_has_time_level_logger_message_and_the_records_own_fields() -> None:
    line = JsonLines().format(record("made %d slices", 3, pod="a/b", cards=["x", "y"], ok=True))
    assert line == (
        '{"time":"2023-11-14T22:13:20.062Z","level":"info","logger":"tangram.test","message":"made 3 slices",'
        '"pod":"a/b","cards":["x","y"],"ok":true}'
    )
    assert datetime.fromisoformat(json.loads(line)["time"]).tzinfo is not None


def test_a_text_line_is_for_people() -> None:
    line = TextLines().format(record("made %d slices", 3, pod="a/b", why="two words"))
    assert line == "2023-11-14T22:13:20.062Z INFO    tangram.test: made 3 slices pod=a/b why='two words'"


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (logging.DEBUG, "debug"),
        (logging.INFO, "info"),
        (logging.WARNING, "warning"),
        (logging.ERROR, "error"),
        (logging.CRITICAL, "fatal"),
        (25, "info"),
    ],
)
def test_levels_have_the_names_by_which_they_are_asked_for(level: int, name: str) -> None:
    assert json.loads(JsonLines().format(record("x", level=level)))["level"] == name


def test_a_field_cannot_take_the_place_of_ours() -> None:
    line = json.loads(JsonLines().format(record("x", level_name="kept", time="noon", logger="me")))
    assert (line["time_"], line["logger_"], line["level_name"]) == ("noon", "me", "kept")
    assert line["logger"] == "tangram.test"


def test_an_exception_comes_along_on_the_same_line() -> None:
    made = record("went wrong")
    try:
        int("the reason")
    except ValueError as error:
        made.exc_info = (ValueError, error, error.__traceback__)
    assert "the reason" in json.loads(JsonLines().format(made))["exception"]
    assert "\n" not in TextLines().format(made)


def test_a_value_that_json_does_not_know_is_its_text() -> None:
    loop: list[object] = []
    loop.append(loop)
    for odd in (object(), {1, 2}, {(1, 2): 3}, loop, "\udc80", float("nan"), 2**80):
        assert json.loads(JsonLines().format(record("x", odd=odd)))["message"] == "x"


def test_a_message_whose_arguments_do_not_fit_is_still_a_line() -> None:
    assert "%d of %d" in json.loads(JsonLines().format(record("%d of %d", "three")))["message"]
    assert "three" in TextLines().format(record("%d of %d", "three"))


@given(st.text(), st.text())
def test_no_text_breaks_a_line(message: str, value: str) -> None:
    made = record("%s", message, field=value)
    line = json.loads(JsonLines().format(made))
    assert line["message"] == message.encode("utf-8", "backslashreplace").decode()
    assert "\n" not in JsonLines().format(made)
    assert len(TextLines().format(made).splitlines()) == 1
