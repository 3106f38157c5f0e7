"""Where pods are is kept in step with the picture."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import card, held, node, view
from tangram.reports.view_shape import WaitingPod
from tangram.web.picture import Picture
from tangram.web.whereabouts import Whereabouts, whereabouts

PODS = ["a/x", "a/y", "b/x"]
NODES = ["n1", "n2"]

moves = st.tuples(
    st.dictionaries(st.sampled_from(NODES), st.lists(st.sampled_from(PODS), max_size=3), max_size=2),
    st.sets(st.sampled_from(NODES)),
    st.sets(st.sampled_from(PODS)),
    st.sets(st.sampled_from(PODS)),
    st.sampled_from(["one", "two"]),
)


@given(st.lists(moves, max_size=8))
def test_after_any_changes_it_is_what_a_look_at_everything_would_find(
    changes: list[tuple[dict[str, list[str]], set[str], set[str], set[str], str]],
) -> None:
    picture = Picture()
    kept = whereabouts(picture)
    for version, (nodes, gone, waiting, gone_waiting, epoch) in enumerate(changes, 1):
        picture.take(
            view(
                *(
                    node(name, *(card(at, held(pod)) for at, pod in enumerate(pods)))
                    for name, pods in nodes.items()
                ),
                gone=sorted(gone - nodes.keys()),
                waiting=[WaitingPod(pod=pod, uid=pod, since=version) for pod in sorted(waiting)],
                gone_waiting=sorted(gone_waiting - waiting),
                version=version,
                epoch=epoch,
            )
        )
    fresh = Whereabouts(picture)
    for pod in PODS:
        assert set(kept.nodes_of(pod)) == set(fresh.nodes_of(pod))
        assert kept.waiting(pod) == fresh.waiting(pod)


def test_one_is_kept_for_each_picture() -> None:
    picture = Picture()
    assert whereabouts(picture) is whereabouts(picture)
    assert whereabouts(picture) is not whereabouts(Picture())
    assert len(picture.listeners) == 1
