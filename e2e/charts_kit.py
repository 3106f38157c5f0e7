"""Real helm on the charts of the tree: what it makes of a case, what it finds wrong, and what it says to people.

helm gets folders of its own for everything it keeps, so neither the machine's settings nor its repositories count.
"""

import json
import os
import re
import subprocess
from pathlib import Path

from builders.charts.cases import Case, values_of
from builders.charts.goldens import CHARTS, Object
from tangram.sandbox.apiserver.schemas import read_yaml
from testbed.binaries import find_binaries

_LINKED = re.compile(r"^level=INFO msg=\"found symbolic link in path\..*$\n?", re.MULTILINE)


class Helm:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = find_binaries().path("helm")
        homes = {f"HELM_{word}_HOME": str(folder / word.lower()) for word in ("CACHE", "CONFIG", "DATA")} | {
            "HOME": str(folder)
        }
        self._environment = {"PATH": os.environ["PATH"], "HELM_NO_PLUGINS": "1", **homes}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run helm without a cluster. That the shared chart is a link is what we know already."""
        ended = subprocess.run(  # noqa: S603 - the helm that was built for the tests
            [self._program, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return subprocess.CompletedProcess(
            ended.args, ended.returncode, ended.stdout, _LINKED.sub("", ended.stderr)
        )

    def render(self, case: Case) -> list[Object]:
        """Every object of a case, hooks among them, read as an API server reads YAML: nothing may stand twice."""
        ended = self.run("template", case.release, *self.chosen(case))
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
        found: list[Object] = []
        for text in re.split(r"^---\s*$", ended.stdout, flags=re.MULTILINE):
            if not re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE).strip():
                continue
            thing, twice = read_yaml(text.encode())
            assert twice == [], text
            found.append(thing)
        return found

    def lint(self, case: Case) -> subprocess.CompletedProcess[str]:
        return self.run("lint", "--strict", "--quiet", *self.chosen(case))

    def notes(self, case: Case) -> str:
        """What a person reads after an installation."""
        ended = self.run(
            "install", case.release, *self.chosen(case, version=False), "--dry-run=client", "--output=json"
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)["info"]["notes"]

    def chosen(self, case: Case, *, version: bool = True) -> list[str]:
        """The chart, the values, and where it is to be installed."""
        file = self._folder / f"{case.chart}-{case.name}.yaml"
        file.write_text(json.dumps(values_of(case)))
        where = [str(CHARTS / case.chart), "--namespace", case.namespace, "--values", str(file)]
        return [*where, "--kube-version", case.kube] if version else where
