"""What is wrong, as a page."""

from __future__ import annotations

import msgspec
import pytest

from builders.dashboards import EVERYTHING, NOW, FakeKnown, asked, card, held, node, view, viewer
from tangram.drivers.doctor.findings import ok
from tangram.reports.status_shape import CORDONED, NOT_READY, UNHEALTHY
from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis
from tangram.web.history.keeping import History
from tangram.web.known import NotKnown
from tangram.web.language import Language
from tangram.web.pages import health
from tangram.web.rendering import Rendering
from tangram.web.sight import Sight

TENANT = Sight(nodes=True, namespaces=frozenset({"research"}))


def known_of() -> FakeKnown:
    known = FakeKnown()
    known.history = History()
    known.picture.listeners.append(known.history.note)
    known.picture.take(view(node("gpu-1", card(0), card(1)), node("gpu-2", card(0)), at=NOW - 60))
    tenants = held("research/train", memory=1, cores=1), held("secret/other", memory=1, cores=1)
    known.picture.take(
        view(
            node("gpu-1", card(0, *tenants, state=UNHEALTHY, reason="<ECC>"), card(1, state=CORDONED)),
            node("gpu-2", card(0), state=NOT_READY),
            node("gpu-3", card(0), state=CORDONED),
            version=2,
            at=NOW - 30,
        )
    )
    return known


async def page_of(
    known: FakeKnown, sight: Sight = EVERYTHING, language: Language = Language.ENGLISH
) -> tuple[int, str]:
    question = asked("/health", by=viewer(sight=sight, language=language))
    shown = await health.page(question, known)
    text = Rendering(lambda name: f"/{name}").page(
        shown.template, shown.values, question, fragment=True, known=known, stamp=""
    )
    return shown.status, text.decode()


async def test_everything_out_of_service_is_named_with_its_command() -> None:
    status, text = await page_of(known_of())
    assert status == 200
    assert "&lt;ECC&gt;" in text
    assert "2026-09-21 14:12:50 UTC" in text
    assert "tangram status --node gpu-1" in text
    assert "tangram uncordon gpu-1 1" in text
    assert "kubectl describe node gpu-2" in text
    assert "kubectl uncordon gpu-3" in text
    assert "became unhealthy" in text


async def test_the_doctors_findings_are_shown_worst_first() -> None:
    _, text = await page_of(known_of())
    assert text.index("gpu-9 has no agent that answers") < text.index("gpu-7 is locked for 6 minutes")
    assert text.index("gpu-7 is locked for 6 minutes") < text.index("Kubernetes 1.34")
    assert "tangram doctor --cluster" in text


async def test_names_of_others_are_shown_to_nobody_who_may_not_list_them() -> None:
    _, text = await page_of(known_of(), TENANT)
    assert "research/train" in text
    assert "secret" not in text
    assert "1 of another namespace" in text
    assert "gpu-9" not in text
    assert "they take the right to list all of them" in text


async def test_who_may_not_list_nodes_is_told_so() -> None:
    status, text = await page_of(known_of(), Sight(everything=True))
    assert status == 403
    assert "right to list nodes" in text
    assert "gpu-1" not in text


async def test_a_doctor_who_cannot_look_is_a_sentence() -> None:
    known = known_of()
    known.trouble = NotKnown("unreachable", "the API server does not answer")
    status, text = await page_of(known)
    assert status == 200
    assert "The doctor could not look: the API server does not answer" in text


@pytest.mark.parametrize("language", list(Language))
async def test_a_cluster_that_is_well_says_so(language: Language) -> None:
    known = FakeKnown(node("gpu-1", card(0)))
    known.history = History()
    known.diagnosed = ClusterDiagnosis(server="", findings=[ok("agents", "1 node runs Tangram's agent")])
    _, text = await page_of(known, language=language)
    assert "note-good" in text
    assert ("Every card is healthy." if language is Language.ENGLISH else "所有卡均正常。") in text


def test_the_moment_is_another_when_a_card_fails_and_not_when_a_pod_comes() -> None:
    known = known_of()
    question = asked("/health")
    before = health.moment(question, known)
    known.picture.take(
        view(node("gpu-2", card(0, held("a/x", whole=True)), state=NOT_READY), version=3, at=NOW - 29)
    )
    assert health.moment(question, known) == before
    known.picture.take(view(node("gpu-2", card(0, state=UNHEALTHY), state=NOT_READY), version=4, at=NOW - 28))
    assert health.moment(question, known) != before
    assert health.moment(asked("/health", by=viewer(sight=Sight())), known) == 0


async def test_nodes_that_could_not_be_read_are_named_until_they_can_be() -> None:
    known = known_of()
    odd = {"gpu-1": ["the annotation of its cards is no JSON"]}
    before = known.picture.version
    known.picture.take(msgspec.structs.replace(view(version=3, at=NOW), unread=odd))
    assert known.picture.version > before
    assert "the annotation of its cards is no JSON" in (await page_of(known))[1]
    known.picture.take(view(version=4, at=NOW + 1))
    assert known.picture.unread == odd
    known.picture.take(msgspec.structs.replace(view(version=5, at=NOW + 2), unread={}))
    assert "is no JSON" not in (await page_of(known))[1]


async def test_nothing_is_called_healthy_before_the_scheduler_has_told_of_it() -> None:
    _, text = await page_of(FakeKnown())
    assert "Every card is healthy" not in text
    assert text.count("Not known yet") == 2
