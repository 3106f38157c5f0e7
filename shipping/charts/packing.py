"""`make charts`: each chart of deploy/charts as one package, the same bytes whoever makes it.

`helm package` writes the times of the machine into the archive, and a release would have another checksum each time
it is made. Here order, owners, modes and times follow from the sources; helm finds in the package what it finds in
the folder. Nothing in a chart is changed on the way, the version least of all.
"""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from shipping.charts.chartfile import FILE, ChartFile, read_chart_file, refuse_other_versions
from shipping.charts.contents import files_of
from shipping.charts.errors import ChartError
from shipping.image.project import ROOT, read_project

FOLDER: Final = "deploy/charts"


def pack(output: Path, root: Path = ROOT) -> tuple[Path, ...]:
    """Write NAME-VERSION.tgz of each installable chart into the folder `output`; all of them, or none."""
    project = read_project(root)
    packages: dict[str, bytes] = {}
    for folder, chart in charts_of(root, project.version):
        if chart.installable:
            name = package_name(chart.name, project.version)
            files = files_of(folder)
            _refuse_lacking(folder, chart, files)
            packages[name] = package(chart.name, files, project.moment)
    output.mkdir(parents=True, exist_ok=True)
    return tuple(_written(output / name, content) for name, content in packages.items())


def charts_of(root: Path, version: str) -> list[tuple[Path, ChartFile]]:
    """The charts of the project, each held to its version and to the name of its folder."""
    place = root / FOLDER
    folders = sorted(path for path in place.iterdir() if path.is_dir()) if place.is_dir() else []
    if not folders:
        raise ChartError(f"{place} holds no charts: run this in a whole copy of the project.")
    found: list[tuple[Path, ChartFile]] = []
    for folder in folders:
        chart = read_chart_file(folder)
        if chart.name != folder.name:
            raise ChartError(
                f"{folder / FILE} names the chart {chart.name!r}: helm wants the name of its folder, {folder.name}."
            )
        refuse_other_versions(folder, chart, version)
        found.append((folder, chart))
    return found


def package_name(chart: str, version: str) -> str:
    """The file that `helm package` would make, and that `helm pull` writes."""
    return f"{chart}-{version}.tgz"


def package(chart: str, files: Mapping[str, bytes], moment: int) -> bytes:
    """One chart as a package. The description comes first, where a reader of a long archive wants it."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as squeezed,
        tarfile.TarFile(fileobj=squeezed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(files, key=lambda name: (name != FILE, name)):
            header = tarfile.TarInfo(f"{chart}/{name}")
            header.mode = 0o644
            header.mtime = moment
            header.size = len(files[name])
            archive.addfile(header, io.BytesIO(files[name]))
    return packed.getvalue()


def _refuse_lacking(folder: Path, chart: ChartFile, files: Mapping[str, bytes]) -> None:
    """A copy of the project that lost its links, as some tools make it, has charts without what they share."""
    for dependency in chart.dependencies:
        if f"charts/{dependency.name}/{FILE}" not in files:
            raise ChartError(
                f"{folder / 'charts' / dependency.name} is missing, which {chart.name} is made with: it is a link to "
                f"../../{dependency.name}."
            )


def _written(path: Path, content: bytes) -> Path:
    """Whole or not at all: somebody may be installing from the file that is replaced."""
    beside = path.with_name(f".{path.name}")
    beside.write_bytes(content)
    return beside.replace(path)
