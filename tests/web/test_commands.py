"""Every number names the command that prints it: the line is there, and the command is one that exists."""

from __future__ import annotations

import re
import shlex
from html import unescape

import pytest

from builders.dashboard_demo import TENANT, demo_known
from builders.dashboard_pages import RENDERING
from builders.dashboards import NOW, FakeKnown, asked, viewer
from tangram.cli.app import app
from tangram.web.page import Viewer
from tangram.web.pages.all import page_at
from tangram.web.sight import Sight

ADMIN = viewer("admin", may_act=True)
NOBODY = viewer("nobody", sight=Sight())
PATHS = (
    "/",
    "/nodes/metax-a02",
    "/nodes/metax-a02?pod=research/rl-run",
    "/pods",
    "/pods?namespace=research",
    "/pods/research/llama-70b-0",
    "/explain?example=whole",
    "/fragmentation",
    "/health",
    "/usage",
)
PLACEHOLDERS = {"CARD": "0", "NODE": "metax-a02", "POD": "rl-run", "NAMESPACE": "research"}


async def _page(known: FakeKnown, address: str, by: Viewer) -> str:
    path, _, query = address.partition("?")
    found = page_at(path)
    assert found is not None, path
    form = {"manifest": MANIFEST} if path == "/explain" else {}
    question = asked(
        path, by=by, parts=found.parts, query=dict([query.split("=")] if query else []), form=form
    )
    shown = await found.page.make(question, known)
    return RENDERING.page(shown.template, shown.values, question, known=known, stamp="x").decode()


MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {name: job}
spec: {containers: [{name: main, resources: {limits: {metax-tech.com/gpu: 1}}}]}
"""


@pytest.mark.parametrize(
    "by", [ADMIN, viewer("researcher", sight=TENANT), NOBODY], ids=lambda by: by.user.name
)
@pytest.mark.parametrize("address", PATHS)
async def test_every_number_leads_to_a_command_that_can_be_given(address: str, by: Viewer) -> None:
    if by is NOBODY and address.startswith(("/nodes/", "/pods/")):
        return
    text = await _page(demo_known(NOW), address, by)
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids)), "an id is there twice"
    assert set(re.findall(r'class="num" href="#([^"]+)"', text)) <= set(ids)
    for command in re.findall(r'<code class="command">([^<]+)</code>', text):
        _given(unescape(command))


def _given(command: str) -> None:
    program, *words = (PLACEHOLDERS.get(word, word) for word in shlex.split(command))
    if program == "tangram":
        app.parse_args(words, exit_on_error=False, print_error=False)
    else:
        assert program == "kubectl", command
