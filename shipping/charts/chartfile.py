"""What a Chart.yaml says, and whether it says the project's version.

A chart names its image by `appVersion`, so a chart of one version with the image of another would install what nobody
has tried together. Hence one version for everything, compared before anything is packed and never corrected here.
"""

from pathlib import Path
from typing import Final

import msgspec
import yaml

from shipping.charts.errors import ChartError

FILE: Final = "Chart.yaml"


class Dependency(msgspec.Struct, frozen=True):
    name: str
    version: str


class ChartFile(msgspec.Struct, frozen=True, rename="camel"):
    """The fields that matter to a packer; helm judges the others."""

    name: str
    version: str
    type: str = "application"
    app_version: str | None = None
    dependencies: list[Dependency] = []

    @property
    def installable(self) -> bool:
        """Whether people install it; a library is only ever a part of charts that they do."""
        return self.type == "application"


def read_chart_file(folder: Path) -> ChartFile:
    """The Chart.yaml of this folder."""
    path = folder / FILE
    try:
        return msgspec.convert(yaml.safe_load(path.read_text("utf-8")), ChartFile)
    except FileNotFoundError:
        raise ChartError(f"{path} is missing: a chart's folder begins with it.") from None
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ChartError(
            f"{path} cannot be read as a chart's description, with name and version as text: {error}."
        ) from None


def refuse_other_versions(folder: Path, chart: ChartFile, version: str) -> None:
    """Raise unless every version in this chart is `version`, the one of pyproject.toml."""
    said = {"version": chart.version}
    if chart.installable:
        said["appVersion"] = chart.app_version or "nothing"
    said |= {f"version of the dependency {one.name}": one.version for one in chart.dependencies}
    wrong = [f"{what} is {value}" for what, value in said.items() if value != version]
    if wrong:
        raise ChartError(
            f"{folder / FILE} does not say the version of pyproject.toml, which is {version}: {', '.join(wrong)}. "
            f"All of them must be {version}."
        )
