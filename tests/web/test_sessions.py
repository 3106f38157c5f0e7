"""Sessions live in memory, for so long, so many of them, and no reader of anything else learns a token."""

from builders.receptions import Clock
from tangram.web.sessions import IDLE_S, LONGEST_S, MOST, MOST_OF_ONE, Gone, Session, Sessions

TOKEN = "eyJ-secret"  # noqa: S105 - what must not be seen anywhere


def found(sessions: Sessions, number: str) -> Session:
    session = sessions.find(number)
    assert isinstance(session, Session)
    return session


def test_a_session_is_found_by_its_number_alone() -> None:
    sessions = Sessions(Clock())
    number = sessions.begin(TOKEN, "anna")
    assert found(sessions, number).token == TOKEN
    for wrong in ("", number[:-1], number + "A", "x" * 10_000, "卡"):
        assert sessions.find(wrong) is Gone.UNKNOWN


def test_a_number_has_256_bits_and_is_kept_nowhere() -> None:
    sessions = Sessions(Clock())
    number = sessions.begin(TOKEN, "anna")
    assert len(number) >= 43
    assert number not in repr([vars(sessions), *sessions.all()])
    assert TOKEN not in repr(found(sessions, number))
    assert sessions.begin(TOKEN, "anna") != number


def test_an_hour_without_a_request_ends_it_and_a_request_begins_the_hour_anew() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    number = sessions.begin(TOKEN, "anna")
    clock.pass_time(IDLE_S - 1)
    found(sessions, number)
    clock.pass_time(IDLE_S - 1)
    found(sessions, number)
    clock.pass_time(IDLE_S)
    assert sessions.find(number) is Gone.IDLE
    assert sessions.find(number) is Gone.UNKNOWN


def test_half_a_day_ends_it_however_busy_it_is() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    number = sessions.begin(TOKEN, "anna")
    for _ in range(int(LONGEST_S / 1800) - 1):
        clock.pass_time(1800)
        found(sessions, number)
    clock.pass_time(1800)
    assert sessions.find(number) is Gone.LONG


def test_a_token_is_not_kept_for_somebody_who_does_not_come_back() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    sessions.begin(TOKEN, "anna")
    clock.pass_time(IDLE_S)
    sessions.find("somebody else's")
    assert len(sessions) == 0


def test_one_person_has_so_many_and_pushes_out_nobody_else() -> None:
    sessions = Sessions(Clock())
    ben = sessions.begin(TOKEN, "ben")
    numbers = [sessions.begin(TOKEN, "anna") for _ in range(MOST_OF_ONE + 3)]
    assert len(sessions) == MOST_OF_ONE + 1
    assert [sessions.find(number) is Gone.UNKNOWN for number in numbers[:4]] == [True, True, True, False]
    found(sessions, ben)


def test_there_are_so_many_and_the_longest_unused_goes_first() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    first, second = sessions.begin(TOKEN, "first"), sessions.begin(TOKEN, "second")
    clock.pass_time(1)
    found(sessions, first)
    for index in range(MOST - 1):
        sessions.begin(TOKEN, f"user-{index}")
    assert len(sessions) == MOST
    found(sessions, first)
    assert sessions.find(second) is Gone.UNKNOWN


def test_signing_out_forgets_the_token() -> None:
    sessions = Sessions(Clock())
    number = sessions.begin(TOKEN, "anna")
    sessions.end(found(sessions, number).digest)
    assert sessions.find(number) is Gone.UNKNOWN
    assert list(sessions.all()) == []
