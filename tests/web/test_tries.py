"""How often an address may be wrong."""

from hypothesis import given
from hypothesis import strategies as st

from builders.receptions import Clock
from tangram.web.tries import MOST, MOST_ADDRESSES, Tries


def test_a_few_at_once_and_then_one_every_few_seconds() -> None:
    clock = Clock()
    tries = Tries(clock=clock)
    for _ in range(MOST):
        assert tries.wait_s("192.0.2.1") == 0
        tries.failed("192.0.2.1")
    wait = tries.wait_s("192.0.2.1")
    assert 0 < wait <= 6
    assert tries.wait_s("192.0.2.2") == 0
    clock.pass_time(wait)
    assert tries.wait_s("192.0.2.1") == 0
    tries.failed("192.0.2.1")
    assert tries.wait_s("192.0.2.1") > 0


def test_somebody_with_a_whole_network_of_addresses_is_one_somebody() -> None:
    tries = Tries(clock=Clock())
    for index in range(MOST):
        tries.failed(f"2001:db8::{index:x}")
    assert tries.wait_s("2001:db8::ffff") > 0
    assert tries.wait_s("2001:db8:0:1::1") == 0
    for _ in range(MOST):
        tries.failed("::ffff:192.0.2.1")
    assert tries.wait_s("192.0.2.1") > 0


def test_memory_is_bounded_whatever_comes() -> None:
    tries = Tries(clock=Clock())
    for index in range(MOST_ADDRESSES + 50):
        tries.failed(f"10.{index >> 16}.{index >> 8 & 255}.{index & 255}")
    assert len(tries) == MOST_ADDRESSES


@given(st.lists(st.floats(0, 120), max_size=60))
def test_nobody_ever_gets_more_tries_than_the_pace_allows(pauses: list[float]) -> None:
    clock = Clock()
    tries = Tries(clock=clock)
    began, done = clock.now, 0
    for pause in pauses:
        clock.pass_time(pause)
        if tries.wait_s("192.0.2.1") == 0:
            tries.failed("192.0.2.1")
            done += 1
        assert done <= MOST + (clock.now - began) / 6 + 1
