"""The project's own environment as an image: this Python, the installed dependencies, and the source as it is now.

Four layers, from what never changes to what always does: busybox, interpreter, dependencies, source. Editing the
source makes only the last one again. Inside, /opt/tangram is an ordinary virtual environment, first on PATH.
"""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from testbed.errors import BedError
from testbed.images.archive import Image, Start
from testbed.images.busybox import SEARCH_PATH, base_layer, base_tree
from testbed.images.bytecode import with_bytecode
from testbed.images.dependencies import installed, metadata_files, module_files, needed_distributions
from testbed.images.interpreter import interpreter_program, interpreter_tree, libraries_mark, shared_libraries
from testbed.images.layers import Entry, File, Layer, Link, Tree, container_path, with_parents
from testbed.images.store import key_by_content, key_by_times, stored_image, stored_layer

ENVIRONMENT_NAME = "docker.io/local/tangram:dev"
HOME = "/opt/tangram"

_PROJECT = "tangram-gpu"
SOURCE = Path(__file__).resolve().parents[2] / "src"
_MODULES = f"{HOME}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
_SCRIPT = """#!{python}
import sys

from {module} import {function}

sys.exit({function}())
"""
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PATH": f"{HOME}/bin:{SEARCH_PATH}",
    # A read-only root must not cost an attempt per module, and a pod's log must show a line when it is written.
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
}


def environment_image(
    *,
    name: str = ENVIRONMENT_NAME,
    source: Path = SOURCE,
    extras: Sequence[str] = (),
    distributions: Sequence[str] = (),
    extra_files: Mapping[str, Path | bytes] | None = None,
    extra_environment: Mapping[str, str] | None = None,
) -> Image:
    """The image of the project as it stands below `source`, this working tree's if nothing else is said.

    `extras` are those of the project ("mthreads"); `distributions` are further installed packages, with what they
    need. `extra_files` (container path -> host file, host folder, or content) come in a layer above the source; one
    is executable if the host file is, or if the content starts with `#!`.
    """
    try:
        layers = _layers(source, extras, distributions, extra_files or {})
    except OSError as error:
        raise BedError(
            f"Reading the environment for {name} failed ({error}): if an installation is running, try again after it."
        ) from error
    environment = {**_ENVIRONMENT, **(extra_environment or {})}
    return stored_image(name, layers, Start(command=(f"{HOME}/bin/python3",), environment=environment))


def _layers(
    source: Path, extras: Sequence[str], distributions: Sequence[str], extra_files: Mapping[str, Path | bytes]
) -> list[Layer]:
    present = base_tree()
    always = needed_distributions([_PROJECT])
    further = needed_distributions([f"{_PROJECT}[{','.join(extras)}]", *distributions])
    interpreter = _interpreter_tree()
    layers = [
        base_layer(),
        _large_layer("interpreter", interpreter, {}, present),
        _large_layer("dependencies", _modules(always), interpreter, present),
    ]
    additions = _modules(set(further) - set(always))
    if additions:
        layers.append(_large_layer("additions", additions, interpreter, present))
    layers.append(_small_layer("source", source_tree(source), present))
    if extra_files:
        layers.append(_small_layer("extra", _extra_tree(extra_files), present))
    return layers


def source_tree(source: Path) -> dict[str, Entry]:
    """The package below `source`, what is recorded about its installation, and its commands."""
    if not (source / "tangram").is_dir():
        raise BedError(
            f"{source} has no folder tangram, so there is no source to put into an image: name another."
        )
    tree: dict[str, Entry] = {}
    for path in sorted((source / "tangram").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            # Read now: a file saved between two looks would give a layer that does not fit its key.
            tree[container_path(f"{_MODULES}/{path.relative_to(source)}")] = File(path.read_bytes())
    project = installed(_PROJECT)
    tree |= metadata_files(project, _MODULES)
    for script in project.entry_points.select(group="console_scripts"):
        text = _SCRIPT.format(python=f"{HOME}/bin/python3", module=script.module, function=script.attr)
        tree[container_path(f"{HOME}/bin/{script.name}")] = File(text.encode(), executable=True)
        tree[container_path(f"/usr/bin/{script.name}")] = Link(f"{HOME}/bin/{script.name}")
    return tree


def _interpreter_tree() -> dict[str, Entry]:
    program = interpreter_program()
    settings = f"home = {program.parent}\ninclude-system-site-packages = false\n"
    return {
        **interpreter_tree(),
        container_path(f"{HOME}/pyvenv.cfg"): File(settings.encode()),
        container_path(f"{HOME}/bin/python3"): Link(str(program)),
        container_path(f"{HOME}/bin/python"): Link("python3"),
    }


def _modules(names: Iterable[str]) -> dict[str, Entry]:
    tree: dict[str, Entry] = {}
    for name in sorted(names):
        if name != _PROJECT:
            tree |= module_files(installed(name), _MODULES)
    return tree


def _extra_tree(files: Mapping[str, Path | bytes]) -> dict[str, Entry]:
    tree: dict[str, Entry] = {}
    for place, content in files.items():
        if isinstance(content, bytes):
            tree[container_path(place)] = File(content, executable=content.startswith(b"#!"))
        elif content.is_dir():
            for path in sorted(content.rglob("*")):
                if path.is_file():
                    tree[container_path(f"{place}/{path.relative_to(content)}")] = _host_file(path)
        elif content.is_file():
            tree[container_path(place)] = _host_file(content)
        else:
            raise BedError(
                f"{content}, which was to become {place} of an image, is no file and no folder here."
            )
    return tree


def _host_file(path: Path) -> File:
    return File(path.read_bytes(), executable=os.access(path, os.X_OK))


def _large_layer(kind: str, tree: dict[str, Entry], below: dict[str, Entry], present: Tree) -> Layer:
    def whole() -> Tree:
        there_already = shared_libraries(below)
        libraries = {
            name: entry for name, entry in shared_libraries(tree).items() if name not in there_already
        }
        return with_parents(with_bytecode(tree) | libraries, present)

    key = key_by_times({**tree, ".libraries": File(libraries_mark().encode())})
    return stored_layer(kind, key, whole)


def _small_layer(kind: str, tree: dict[str, Entry], present: Tree) -> Layer:
    return stored_layer(kind, key_by_content(tree), lambda: with_parents(with_bytecode(tree), present))
