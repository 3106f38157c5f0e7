"""Pages of the dashboard as HTML, without a server around them."""

from __future__ import annotations

from collections.abc import Mapping

from builders.dashboards import FakeKnown, asked, viewer
from tangram.web.language import Language
from tangram.web.page import Asked, Shown, Viewer
from tangram.web.pages import explain, pod
from tangram.web.rendering import Rendering
from tangram.web.sight import Sight

RENDERING = Rendering(lambda name: f"/static/x/{name}")


def html_of(shown: Shown, question: Asked, known: FakeKnown) -> str:
    return RENDERING.page(shown.template, shown.values, question, known=known, stamp="x").decode()


async def pod_page(known: FakeKnown, name: str, by: Viewer | None = None) -> str:
    """The page of a pod by its `namespace/name`."""
    home, _, own = name.partition("/")
    question = asked(f"/pods/{name}", by=by, parts={"namespace": home, "name": own})
    return html_of(await pod.page(question, known), question, known)


async def explain_page(
    known: FakeKnown,
    manifest: str,
    *,
    by: Viewer | None = None,
    more: Mapping[str, str] | None = None,
) -> tuple[Shown, str]:
    """What is answered to a pasted text."""
    question = asked("/explain", by=by, form={"manifest": manifest, **(more or {})})
    shown = await explain.page(question, known)
    return shown, html_of(shown, question, known)


def chinese(sight: Sight | None = None) -> Viewer:
    return viewer(language=Language.CHINESE, sight=sight or Sight(everything=True, nodes=True))
