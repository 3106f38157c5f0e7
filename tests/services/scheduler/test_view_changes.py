"""Followers who ask whenever they like end with the same as whoever was told everything."""

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from tangram.services.scheduler.view_changes import Versions

steps = st.lists(
    st.tuples(st.sampled_from(["change", "go", "ask"]), st.integers(0, 6), st.integers(1, 3)), max_size=40
)


@given(steps, st.integers(0, 4))
def test_a_follower_knows_what_is_there_or_must_begin_anew(
    steps: list[tuple[str, int, int]], most_gone: int
) -> None:
    ticks = count(1)
    last = 0

    def tick() -> int:
        nonlocal last
        last = next(ticks)
        return last

    versions = Versions[int](tick, most_gone=most_gone)
    there: set[int] = set()
    known: set[int] = set()
    heard = began = 0
    for what, key, few in steps:
        if what == "change":
            versions.changed(key)
            there.add(key)
        elif what == "go":
            versions.went([key])
            there.discard(key)
        else:
            if versions.forgotten > max(heard, began):
                known, heard, began = set[int](), 0, last
            entries = versions.after(heard, began=began)
            for each in entries[:few]:
                (known.discard if each.gone else known.add)(each.key)
            heard = entries[few - 1].version if len(entries) > few else last
            if heard == last:
                assert known == there
        assert set(versions.there()) == there
        assert len(versions) == len(there)
        assert all(each in versions for each in there)
