"""Log options as the charts write them; a wrong one is one sentence."""

import logging
from pathlib import Path

import pytest

from tangram.daemon.errors import SettingError
from tangram.daemon.log_options import LogFormat, LogOptions, read_log_options

HOUR = 3600


def test_what_is_not_said_is_as_in_the_manual() -> None:
    assert read_log_options() == LogOptions()
    assert read_log_options() == LogOptions(
        directory=Path("/var/log/metax"),
        level=logging.INFO,
        form=LogFormat.JSON,
        rotation=168 * HOUR,
        max_age=26 * 168 * HOUR,
    )


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("debug", logging.DEBUG),
        ("info", logging.INFO),
        ("warning", logging.WARNING),
        ("warn", logging.WARNING),
        ("error", logging.ERROR),
        ("fatal", logging.CRITICAL),
        ("INFO", logging.INFO),
    ],
)
def test_the_manuals_levels_and_the_charts_word_for_a_warning(word: str, level: int) -> None:
    assert read_log_options(level=word).level == level


@pytest.mark.parametrize(
    ("word", "seconds"), [("1w", 168 * HOUR), ("7d", 168 * HOUR), ("168h", 168 * HOUR), ("2D", 48 * HOUR)]
)
def test_times_are_weeks_days_or_hours_in_either_case(word: str, seconds: int) -> None:
    options = read_log_options(rotation=word, max_age=word)
    assert (options.rotation, options.max_age) == (seconds, seconds)


def test_an_empty_folder_means_standard_error_alone() -> None:
    assert read_log_options(directory="").directory is None


@pytest.mark.parametrize(
    ("option", "value", "legal"),
    [
        ("level", "loud", "--log-level is 'loud': it is debug, info, warning (or warn), error or fatal"),
        ("form", "xml", "--log-format is 'xml': it is json or text"),
        ("rotation", "0w", "--log-rotation is '0w'"),
        ("rotation", "1m", "write for example 1w, 7d or 12h"),
        ("rotation", "", "--log-rotation is ''"),
        ("max_age", "26", "weeks, days or hours"),
        ("max_age", "-1d", "--log-max-age is '-1d'"),
        ("max_age", "1.5d", "whole number"),
        ("max_age", "9" * 400 + "w", "--log-max-age is '999"),
        ("directory", "a\0b", "--log-dir"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_what_is_legal(option: str, value: str, legal: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_log_options(**{option: value})
    sentence = str(refused.value)
    assert legal in sentence
    assert sentence.endswith(".")
    assert len(sentence) < 250
