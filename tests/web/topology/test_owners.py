"""What a pod looks like: the same everywhere, and another than its neighbours."""

from hypothesis import given
from hypothesis import strategies as st

from tangram.web.topology.owners import DRESSES, HUES, dress, hue, pattern

PODS = st.sets(st.text(max_size=8), max_size=DRESSES)


@given(PODS)
def test_no_two_pods_look_alike_while_there_are_looks_left(pods: set[str]) -> None:
    given_looks = dress(pods)
    assert len({(hue(look), pattern(look)) for look in given_looks.values()}) == len(pods)
    if len(pods) <= HUES:
        assert all(pattern(look) == 0 for look in given_looks.values())


@given(st.text(max_size=8))
def test_a_pod_alone_looks_the_same_on_every_node(pod: str) -> None:
    assert dress([pod]) == dress([pod, pod])


def test_more_pods_than_looks_share_them() -> None:
    looks = dress(f"a/{number}" for number in range(DRESSES + 5))
    assert set(looks.values()) == set(range(DRESSES))
