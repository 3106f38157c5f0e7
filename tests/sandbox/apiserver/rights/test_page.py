"""What `docs/sandbox.md` shows of tenants is what kubectl prints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from builders.consoles import blocks, normal, played, shell, steps
from tangram.sandbox.apiserver.server import serving_api
from tangram.sandbox.kubeconfig import kubeconfig_text

PAGE = Path(__file__).resolve().parents[4] / "docs" / "sandbox.md"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl on PATH")
async def test_the_recipe_for_a_tenant_prints_what_the_page_shows(tmp_path: Path) -> None:
    section = PAGE.read_text("utf-8").partition("\n## Tenants\n")[2].partition("\n## ")[0]
    (block,) = blocks(section)
    config = tmp_path / "config"
    async with serving_api() as running:
        config.write_text(kubeconfig_text(running.address, running.issued.authority, running.token), "utf-8")
        async with shell(tmp_path, {"KUBECONFIG": str(config)}) as typed:
            printed = await played(typed, steps(block))
    assert [normal(each.shown) for each in printed] == [normal(each.shown) for each in steps(block)]
