"""Every command shown in `examples/` prints what is shown there.

After a change that is meant to change what is printed, TANGRAM_REFRESH=1 writes the new outputs into the documents; the
diff is then the review.
"""

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from builders.commands import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUESTIONS = sorted(EXAMPLES.glob("0[0-9]-*"))
DOCUMENTS = [
    EXAMPLES / "README.md",
    *(folder / "README.md" for folder in QUESTIONS),
]

_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_PROMPT = "$ "


def played(block: str) -> str:
    """The commands of a console block with what they print now."""
    lines: list[str] = []
    status = 0
    for line in block.splitlines(keepends=True):
        if not line.startswith(_PROMPT):
            continue
        lines.append(line)
        name, *arguments = shlex.split(line.removeprefix(_PROMPT))
        if (name, *arguments) == ("echo", "$?"):
            lines.append(f"{status}\n")
            continue
        assert name == "tangram"
        answer = run(*arguments)
        assert answer.err == ""
        status = answer.status
        lines.append(answer.out)
    return "".join(lines)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.parent.name)
def test_what_a_readme_shows_is_what_is_printed(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(document.parent)
    shown = document.read_text("utf-8")
    printed = _BLOCK.sub(lambda block: played(block[0]), shown)
    if os.environ.get("TANGRAM_REFRESH") == "1":
        document.write_text(printed, "utf-8")
    assert "\n$ tangram " in shown
    assert printed == shown


def test_every_example_is_listed() -> None:
    index = (EXAMPLES / "README.md").read_text("utf-8")
    assert [folder.name for folder in QUESTIONS if f"({folder.name}/README.md)" not in index] == []


def explained(folder: str, *more: str, pod: str = "pod.yaml") -> tuple[int, str]:
    """Status and first line; what they say is stated here too, so that refreshing the documents cannot lose it."""
    here = EXAMPLES / folder
    answer = run("explain", "-f", str(here / pod), "--cluster", str(here / "cluster.yaml"), *more)
    return answer.status, answer.out.splitlines()[0]


def test_figure_2_2_of_the_manual() -> None:
    status, headline = explained("01-four-linked-cards")
    assert status == 0
    assert "node gpu-1, cards 5, 6, 7 and 8 (" in headline


def test_figure_2_3_of_the_manual() -> None:
    status, headline = explained("02-keep-the-rest-whole")
    assert status == 0
    assert "node gpu-1, cards 3 and 4 (" in headline


@pytest.mark.parametrize("policy", ["binpack", "spread"])
def test_a_policy_for_nodes_gives_linked_cards_and_shows_what_they_cost(policy: str) -> None:
    here = EXAMPLES / "02-keep-the-rest-whole"
    pod, cluster = str(here / "pod.yaml"), str(here / "three-in-use.yaml")
    answer = run("explain", "-f", pod, "--cluster", cluster, "--node-policy", policy)
    assert "node gpu-1, cards 7 and 8 (" in answer.out
    trade = "Connections of cards 7, 8: score 110, loss 460. Least loss: 360 with cards 4, 8, score 10.\n"
    assert trade in answer.out
    data = run("explain", "-f", pod, "--cluster", cluster, "--node-policy", policy, "-o", "json")
    sets = json.loads(data.out)["pods"][0]["nodes"][0]["sets"]
    assert [(each["cards"], each["chosen"], each["least_loss"]) for each in sets] == [
        ([7, 8], True, False),
        ([6, 8], False, False),
        ([4, 8], False, True),
    ]


def test_a_policy_for_cards_takes_those_with_the_least_loss() -> None:
    here = EXAMPLES / "02-keep-the-rest-whole"
    answer = run(
        "explain",
        "-f",
        str(here / "pod.yaml"),
        "--cluster",
        str(here / "three-in-use.yaml"),
        "--card-policy",
        "binpack",
    )
    assert "node gpu-1, cards 4 and 8 (" in answer.out
    assert "Connections of cards 4, 8: score 10, loss 360, the least of all sets.\n" in answer.out


def test_two_policies_pick_different_nodes() -> None:
    assert "node gpu-1," in explained("03-two-policies", pod="pod-binpack.yaml")[1]
    assert "node gpu-0," in explained("03-two-policies", pod="pod-spread.yaml")[1]


def test_another_qos_policy_makes_a_pod_wait() -> None:
    status, headline = explained("04-qos-mismatch")
    assert status == 1
    assert "cards run another QoS policy" in headline


def test_a_size_that_does_not_exist_is_refused() -> None:
    assert explained("05-no-such-size") == (1, "default/infer is refused: 1 fault.")


def test_the_pod_that_fits_nowhere_gets_at_least_three_suggestions() -> None:
    folder = EXAMPLES / "06-fits-nowhere"
    answer = run("explain", "-f", str(folder / "pod.yaml"), "--cluster", str(folder / "cluster.yaml"))
    assert answer.status == 1
    assert "\n  3. " in answer.out
