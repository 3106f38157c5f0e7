"""A `go` for tests of the build: a shell script that writes tiny programs, and two components for it to build.

What it is to do besides is written into files of its folder, so that builds in other processes obey, too.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed import binaries, debian, toolchain
from testbed.parts import Component, Part, read_components

ROOT = Path(__file__).parents[2]

PARTS = (
    Part("alpha", typical_seconds=10),
    Part("beta", typical_seconds=30, tags=("odd",), renamed={"server": "beta-{major}.{minor}"}),
)

_SCRIPT = """#!/bin/sh
bed={folder}
if [ "$1" = env ]; then echo "$(cat $bed/said-version)"; echo env >> $bed/calls; exit 0; fi
if [ "$1" = list ]; then exit 0; fi
component=$(basename "$PWD")
echo "$component" >> $bed/calls
echo "$PWD $*" > $bed/command-$component
env > $bed/environment-$component
if [ -e $bed/failure-$component ]; then cat $bed/failure-$component; exit 1; fi
while [ "$1" != -o ]; do shift; done
into=$2; shift 2
for package; do
  case $package in */v[0-9]*) package=$(dirname "$package");; esac
  name=$(basename "$package")
  [ -e $bed/forgets-$name ] || echo "$package" > "$into$name"
  if [ -p $bed/release-$component ]; then
    echo $$ > $bed/started-$component
    read word < $bed/release-$component
  fi
done
"""

_DRIVER = """
import sys
from builders.fake_go import PARTS
from pathlib import Path
from testbed import building, debian
from testbed.parts import read_components
debian.TO_RUN = ()
building.read_components = lambda: read_components(Path(sys.argv[1]), PARTS)
sys.exit(building.main())
"""


@dataclass(frozen=True)
class FakeGo:
    """The script's folder, the sources of the two components and the cache that they are built into."""

    folder: Path
    sources: Path
    cache: Path

    @property
    def program(self) -> Path:
        return self.folder / "go" / "bin" / "go"

    def components(self) -> tuple[Component, ...]:
        return read_components(self.sources, PARTS)

    def install(self, version: str | None = "go1.26.8") -> None:
        """With that VERSION file beside it, or with none."""
        self.program.parent.mkdir(parents=True, exist_ok=True)
        self.program.write_text(_SCRIPT.format(folder=self.folder), "utf-8")
        self.program.chmod(0o755)
        beside = self.folder / "go" / "VERSION"
        beside.unlink(missing_ok=True)
        if version is not None:
            beside.write_text(f"{version}\ntime 2026-08-28T16:20:06Z\n", "utf-8")

    def says_version(self, version: str) -> None:
        (self.folder / "said-version").write_text(version, "utf-8")

    def fails(self, component: str, output: str) -> None:
        (self.folder / f"failure-{component}").write_text(output, "utf-8")

    def works_again(self, component: str) -> None:
        (self.folder / f"failure-{component}").unlink()

    def forgets(self, program: str) -> None:
        (self.folder / f"forgets-{program}").touch()

    def pauses(self, component: str) -> None:
        """After the first program of the component, until released."""
        os.mkfifo(self.folder / f"started-{component}")
        os.mkfifo(self.folder / f"release-{component}")

    def await_pause(self, component: str) -> int:
        """The process id of the script, once it has come to its pause."""
        return int((self.folder / f"started-{component}").read_text("utf-8"))

    def release(self, component: str) -> None:
        (self.folder / f"release-{component}").write_text("go on\n", "utf-8")

    def pauses_no_more(self, component: str) -> None:
        (self.folder / f"release-{component}").unlink()

    def calls(self) -> list[str]:
        """What was built, in order; `env` stands for a question about the version."""
        log = self.folder / "calls"
        return log.read_text("utf-8").split() if log.exists() else []

    def forget_calls(self) -> None:
        (self.folder / "calls").unlink(missing_ok=True)

    def command(self, component: str) -> str:
        """The folder it was called in and its arguments."""
        return (self.folder / f"command-{component}").read_text("utf-8").strip()

    def environment(self, component: str) -> dict[str, str]:
        lines = (self.folder / f"environment-{component}").read_text("utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def built(self) -> list[str]:
        """Every file of the components' part of the cache, half-made ones included."""
        root = self.cache / "components"
        return sorted(
            str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.name != "lock"
        )

    def elsewhere(self) -> subprocess.Popen[str]:
        """The same build in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-c", _DRIVER, str(self.sources)],
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def prepared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    """The fake in place of every real Go, here and in processes started from here."""
    fake = FakeGo(folder / "fake", folder / "sources", folder / "cache")
    _write_sources(fake.sources)
    fake.install()
    monkeypatch.setenv("PATH", f"{fake.program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TANGRAM_TESTBED_CACHE", str(fake.cache))
    monkeypatch.setattr(toolchain, "USUAL_PLACES", ())
    monkeypatch.setattr(debian, "TO_RUN", ())
    monkeypatch.setattr(binaries, "read_components", fake.components)
    return fake


def _write_sources(folder: Path) -> None:
    """The go.mod and go.sum files of the two components."""
    _write(
        folder / "alpha",
        "module tangram.dev/testbed/alpha\n\ngo 1.25\n\n"
        "tool (\n\texample.org/alpha/cmd/one\n\texample.org/alpha/cmd/two\n)\n\n"
        "require (\n\texample.org/alpha v1.2.3 // indirect\n\texample.org/other v9.9.9 // indirect\n)\n",
    )
    _write(
        folder / "beta",
        "module tangram.dev/testbed/beta\n\ngo 1.26.0\n\ntool example.org/beta/server/v3\n\n"
        "require example.org/beta/server/v3 v3.6.16\n",
    )


def _write(folder: Path, mod: str) -> None:
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text(mod, "utf-8")
    (folder / "go.sum").write_text("example.org/alpha v1.2.3 h1:abc=\n", "utf-8")
