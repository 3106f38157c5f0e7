"""The files of one chart as helm would read them: path in the package -> content.

What the charts share is a folder of its own, and each chart has a link to it, so links are followed, but only to what
lies beside the charts and to the definitions of kinds, which people also apply by themselves: a package must not depend
on anything else of this machine. Files that editors leave behind
(a dot before the name, a tilde after it) are not packed. A `.helmignore` is refused rather than read: helm's
rules for it are its own, and a chart without stray files needs none.
"""

from pathlib import Path
from typing import Final

from shipping.charts.errors import ChartError

IGNORES: Final = ".helmignore"
DEFINITIONS: Final = "crds"
"""The folder beside that of the charts."""


def files_of(chart: Path) -> dict[str, bytes]:
    """Everything below the folder `chart`, named from that folder, sorted."""
    charts = chart.parent.resolve()
    bounds = (charts, charts.parent / DEFINITIONS)
    found: dict[str, bytes] = {}
    _gather(chart, "", bounds, found, above=())
    return dict(sorted(found.items()))


def _gather(
    folder: Path, prefix: str, bounds: tuple[Path, ...], found: dict[str, bytes], *, above: tuple[Path, ...]
) -> None:
    place = folder.resolve()
    if place in above:
        raise ChartError(f"{folder} leads back into a folder that holds it: a package of it would never end.")
    for path in sorted(folder.iterdir()):
        name = path.name
        if name == IGNORES:
            raise ChartError(
                f"{path} would be read by helm and not by `make charts`, and the two would pack different files: "
                "remove it, and what it names."
            )
        if name.startswith(".") or name.endswith("~"):
            continue
        if not any(path.resolve().is_relative_to(each) for each in bounds):
            raise ChartError(
                f"{path} is a link to {path.resolve()}: a chart holds only files below "
                f"{' and '.join(map(str, bounds))}."
            )
        if path.is_dir():
            _gather(path, f"{prefix}{name}/", bounds, found, above=(*above, place))
        elif path.is_file():
            found[f"{prefix}{name}"] = path.read_bytes()
        else:
            raise ChartError(
                f"{path} is neither a file nor a folder, or a link to nothing: a chart cannot hold it."
            )
