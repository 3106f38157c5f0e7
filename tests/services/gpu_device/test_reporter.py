"""Who reports a node's cards: a table of facts and the word that follows."""

from itertools import product
from pathlib import Path

import pytest

from tangram.model.cards import Vendor
from tangram.model.pods import Container, Phase, Pod, PodRef
from tangram.services.gpu_device.records import BoundPod
from tangram.services.gpu_device.reporter import (
    Facts,
    Reporter,
    daemon_in,
    folder_sentence,
    foreign_sentence,
    koordlet_in,
    reporter,
    unwritable_sentence,
)
from tangram.units.ids import Namespace, PodName, PodUid


def pod(
    container: str, app: str = "koordlet", phase: Phase = Phase.RUNNING, *, on_host: bool = True
) -> BoundPod:
    made = Pod(
        ref=PodRef(Namespace("koordinator-system"), PodName(container), PodUid(container)),
        containers=(Container(container),),
        labels={"koord-app": app},
        phase=phase,
    )
    return BoundPod(pod=made, holds=None, kubelet_uid=made.ref.uid, on_host=on_host)


KOORDLET, DAEMON = pod("koordlet"), pod("koord-device-daemon")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param(Facts(), Reporter.UNDECIDED, id="nothing is known yet"),
        pytest.param(Facts(served=False), Reporter.NOBODY, id="no Koordinator"),
        pytest.param(Facts(served=True), Reporter.OBJECT, id="the kind alone"),
        pytest.param(Facts(served=True, written_by="koordlet"), Reporter.FOREIGN, id="a Device of others"),
        pytest.param(Facts(served=True, koordlet=True), Reporter.FILE, id="koordlet"),
        pytest.param(Facts(koordlet=True), Reporter.FILE, id="koordlet, before the kind was asked for"),
        pytest.param(
            Facts(served=True, koordlet=True, written_by="koordlet"), Reporter.FILE, id="koordlet at work"
        ),
        pytest.param(Facts(served=True, koordlet=True, daemon=True), Reporter.DAEMON, id="both of them"),
        pytest.param(
            Facts(served=True, koordlet=True, listed_in="ic-device"), Reporter.DAEMON, id="a file lists ours"
        ),
        pytest.param(Facts(served=True, daemon=True), Reporter.OBJECT, id="a daemon that nobody reads"),
    ],
)
def test_the_same_facts_always_mean_the_same_reporter(facts: Facts, expected: Reporter) -> None:
    assert reporter(facts) is expected


def test_whatever_the_facts_we_never_write_a_second_report() -> None:
    for served, koordlet, daemon, listed, written in product(
        (None, False, True), (False, True), (False, True), ("", "ic-device"), ("", "koordlet")
    ):
        facts = Facts(served=served, koordlet=koordlet, daemon=daemon, listed_in=listed, written_by=written)
        decided = reporter(facts)
        if decided is Reporter.FILE:
            assert koordlet
            assert not daemon
            assert not listed
        if decided is Reporter.OBJECT:
            assert served
            assert not koordlet
            assert not written


def test_koordlet_is_known_by_its_label_and_told_from_the_daemon_that_wears_the_same() -> None:
    assert koordlet_in([KOORDLET])
    assert koordlet_in([DAEMON, KOORDLET])
    assert not koordlet_in([DAEMON])
    assert not koordlet_in([pod("koordlet", phase=Phase.FAILED)])
    assert not koordlet_in([pod("koordlet", app="something")])
    assert not koordlet_in([])


def test_a_tenant_that_calls_itself_koordlet_or_its_daemon_is_neither() -> None:
    """A label and a name are anybody's to write; folders of the host are not."""
    assert not koordlet_in([pod("koordlet", on_host=False)])
    assert not daemon_in([KOORDLET, pod("koord-device-daemon", on_host=False)], {Vendor.METAX})
    assert not daemon_in([pod("any", app="koord-device-daemon", on_host=False)], {Vendor.METAX})


def test_the_daemon_counts_for_the_vendors_that_it_knows() -> None:
    assert daemon_in([KOORDLET, DAEMON], {Vendor.METAX})
    assert daemon_in([pod("any", app="koord-device-daemon")], {Vendor.METAX})
    assert not daemon_in([DAEMON], {Vendor.MTHREADS})
    assert not daemon_in([KOORDLET], {Vendor.METAX})
    assert not daemon_in([pod("koord-device-daemon", phase=Phase.SUCCEEDED)], {Vendor.METAX})


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (foreign_sentence("n1", "koordlet"), ("koordlet", "kubectl delete device n1")),
        (unwritable_sentence("403 Forbidden"), ("403 Forbidden", "devices.scheduling.koordinator.sh")),
        (folder_sentence(Path("/x"), OSError(13, "Permission denied")), ("/x", "Permission denied", "mount")),
    ],
)
def test_every_sentence_says_what_was_found_and_what_to_do(said: str, words: tuple[str, ...]) -> None:
    assert all(word in said for word in words)
    assert said.endswith(".")
    assert "\n" not in said
