"""Small git checkouts that look like the project, for tests of what is made from commits."""

import os
import subprocess
from pathlib import Path

from shipping.charts.packing import FOLDER as CHARTS

MOMENT = 1700000000


def git(root: Path, *words: str) -> str:
    """Run git there, as a person whose own settings play no part."""
    settings = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_DATE": f"{MOMENT} +0000",
        "GIT_COMMITTER_DATE": f"{MOMENT} +0000",
    }
    person = ["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *person, *words], cwd=root, check=True, env=settings, capture_output=True, text=True
    )
    return done.stdout.strip()


def checkout(root: Path, version: str, heading: str) -> Path:
    """The project in little: every file that says the version, in one commit. `heading` is the CHANGELOG's."""
    root.mkdir()
    write_versions(root, version)
    write(root, "CHANGELOG.md", f"# Changelog\n\n{heading}\n\n### Added\n\n- A thing.\n")
    git(root, "init", "--quiet")
    commit(root, "first")
    return root


def write_versions(root: Path, version: str) -> None:
    """Let every file but the CHANGELOG say this version."""
    write(root, "pyproject.toml", f'[project]\nname = "tangram-gpu"\nversion = "{version}"\n')
    write(root, "src/tangram/__init__.py", f'"""Tangram."""\n\n__version__ = "{version}"\n')
    write(
        root,
        f"{CHARTS}/tangram-parts/Chart.yaml",
        f"name: tangram-parts\ntype: library\nversion: {version}\n",
    )
    for name in ("tangram", "metax-gpu-extensions", "metax-operator"):
        write(
            root,
            f"{CHARTS}/{name}/Chart.yaml",
            f"apiVersion: v2\nname: {name}\nversion: {version}\nappVersion: {version}\n"
            f'kubeVersion: ">=1.23.0-0"\ndependencies:\n  - name: tangram-parts\n    version: {version}\n',
        )


def write(root: Path, name: str, text: str) -> None:
    """One file, with the folders above it."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def commit(root: Path, message: str) -> str:
    """Everything as it is now; the commit's name."""
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(root, "rev-parse", "HEAD")
