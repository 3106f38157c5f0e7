"""Every place of the sources that says the version, whether all agree with the tag, and how a snapshot is written in.

The tag decides. A file that says something else is named with what it says: correcting it here would make a release
of sources that nobody has committed. A snapshot is no release, so its version is written into the copy it is made
from; otherwise two different images would have one name.
"""

import ast
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from shipping.charts.chartfile import FILE as CHART_FILE
from shipping.charts.chartfile import read_chart_file
from shipping.charts.errors import ChartError
from shipping.charts.packing import FOLDER as CHARTS
from shipping.release import changelog
from shipping.release.errors import ReleaseError
from shipping.release.version import Version

PROJECT: Final = "pyproject.toml"
PACKAGE: Final = "src/tangram/__init__.py"
_IN_PROJECT: Final = re.compile(r'(?m)^(version = )".*"$')
_IN_PACKAGE: Final = re.compile(r'(?m)^(__version__ = )".*"$')
_IN_CHART: Final = re.compile(r"(?m)^([ -]*(?:version|appVersion): ).*$")


def version_said(tree: Path) -> Version:
    """What pyproject.toml says."""
    return Version.of(_in_project(tree), PROJECT)


def statements(tree: Path) -> dict[str, str]:
    """Where the version is said, and what is said there."""
    said = {PROJECT: _in_project(tree), PACKAGE: _in_package(tree)}
    for path in sorted((tree / CHARTS).glob(f"*/{CHART_FILE}")):
        name = str(path.relative_to(tree))
        try:
            chart = read_chart_file(path.parent)
        except ChartError as error:
            raise ReleaseError(str(error)) from None
        said[f"{name} (version)"] = chart.version
        if chart.installable:
            said[f"{name} (appVersion)"] = chart.app_version or "nothing"
        said |= {f"{name} (dependency {one.name})": one.version for one in chart.dependencies}
    return said


def refuse_disagreement(tree: Path, version: Version) -> None:
    """Raise unless these sources say of themselves that they are this released version, CHANGELOG and all."""
    wrong = [
        f"{where} says {said}" for where, said in statements(tree).items() if said != version.text
    ] + _wrong_in_changelog(tree, version)
    if wrong:
        listed = "\n  ".join(wrong)
        raise ReleaseError(
            f"The tag {version.tag} says that this commit is version {version.text}, and its files do not:\n  {listed}"
            f"\nWrite {version.text} there, with the day of the release in {changelog.FILE}, commit that and tag "
            f"the new commit (`git tag --force {version.tag}`, if nobody has the tag yet)."
        )


def write_version(tree: Path, version: Version) -> None:
    """Make these sources say that they are this version."""
    _rewrite(tree / PROJECT, _IN_PROJECT, lambda match: f'{match[1]}"{version.text}"')
    _rewrite(tree / PACKAGE, _IN_PACKAGE, lambda match: f'{match[1]}"{version.text}"')
    for path in (tree / CHARTS).glob(f"*/{CHART_FILE}"):
        _rewrite(path, _IN_CHART, lambda match: f"{match[1]}{version.text}")
    left = [where for where, said in statements(tree).items() if said != version.text]
    if left:
        raise ReleaseError(
            f"The version cannot be written into {', '.join(left)}: it must stand there alone on its line, as "
            f'`version = "{version.text}"` or `version: {version.text}`.'
        )


def _rewrite(path: Path, pattern: re.Pattern[str], written: Callable[[re.Match[str]], str]) -> None:
    path.write_text(pattern.sub(written, path.read_text("utf-8")), "utf-8")


def _wrong_in_changelog(tree: Path, version: Version) -> list[str]:
    section = changelog.section_named((tree / changelog.FILE).read_text("utf-8"), version.text)
    if section is None:
        return [f"{changelog.FILE} has no section `## [{version.text}] - YYYY-MM-DD`"]
    if not section.dated:
        return [f"{changelog.FILE} says {section.when or 'nothing'} where the day of the release belongs"]
    if not section.words:
        return [f"{changelog.FILE} says nothing about {version.text}"]
    return []


def _in_project(tree: Path) -> str:
    return str(tomllib.loads((tree / PROJECT).read_text("utf-8"))["project"]["version"])


def _in_package(tree: Path) -> str:
    """Read without running it: the module that would be imported is another tree's."""
    for node in ast.parse((tree / PACKAGE).read_text("utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__version__")], value=ast.Constant(value=str(text))):
                return text
            case _:
                continue
    return "nothing"
