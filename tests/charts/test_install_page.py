"""`docs/install.md` lists every option of chart `tangram` with what holds if it is not given."""

import json
import re
from pathlib import Path

import pytest
import yaml

from builders.charts.cases import TANGRAM, case_named, leaves
from builders.charts.goldens import CHARTS, objects_of
from builders.charts.reading import of_kind, pod_of
from tangram.services.scheduler.generations import USUAL_PACE

PAGE = (Path(__file__).parents[2] / "docs" / "install.md").read_text("utf-8")


def test_every_option_is_in_the_table_with_its_default() -> None:
    table = PAGE.partition("| Option | If not given | Meaning |")[2].partition("\n\n")[0]
    told = {
        path: json.loads(usual)
        for path, usual in re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", table, re.MULTILINE)
    }
    assert told == dict(leaves(yaml.safe_load((CHARTS / TANGRAM / "values.yaml").read_text("utf-8"))))


@pytest.mark.parametrize(
    "words", ["maxUnavailable: 0", "maxSurge: 1", "system-cluster-critical", "RuntimeDefault"]
)
def test_what_the_page_argues_for_is_in_the_chart(words: str) -> None:
    (deployment,) = of_kind(objects_of(case_named(TANGRAM, "default")), "Deployment")
    assert words in PAGE
    assert words.replace(": ", '": ') in json.dumps(deployment)


def test_the_days_of_an_authority_are_those_of_the_code() -> None:
    days = f"authority changes every {USUAL_PACE.renew_after.days} days"
    assert days in " ".join(PAGE.split())
    assert days in (CHARTS / "tangram-parts" / "templates" / "_scheduler-refusals.tpl").read_text("utf-8")


def test_the_pods_of_the_scheduler_are_not_made_for_every_change() -> None:
    """The page promises that the file of the scheduler is followed; it is read from a folder that the kubelet swaps."""
    (deployment,) = of_kind(objects_of(case_named(TANGRAM, "default")), "Deployment")
    assert pod_of(deployment)["metadata"]["annotations"].keys() == {"checksum/kube-scheduler"}
