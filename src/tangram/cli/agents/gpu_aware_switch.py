"""`tangram gpu-aware enable` and `disable`: shown first, then asked, then done."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.failures import InputError
from tangram.daemon.errors import SettingError
from tangram.services.gpu_aware.manifest_files import carry_out, read_files
from tangram.services.gpu_aware.switching import USUAL_CONFIG, Files, Plan, switch_off, switch_on
from tangram.wire.errors import WireError

NOT_CONFIRMED: Final = 1

_Manifest = Annotated[
    Path, Parameter(name="--manifest", metavar="FILE", help="kube-scheduler's static manifest.")
]
_Config = Annotated[
    str, Parameter(name="--config", metavar="FILE", help="The configuration that kube-scheduler is given.")
]
_PrintPatch = Annotated[
    bool, Parameter(name="--print-patch", negative="", show_default=False, help="Change nothing.")
]
_Yes = Annotated[bool, Parameter(name="--yes", negative="", show_default=False, help="Do not ask.")]


def enable(
    *,
    manifest: _Manifest,
    extender_url: Annotated[
        str | None,
        Parameter(metavar="URL", help="Where gpu-aware answers; what the configuration has if not given."),
    ] = None,
    scheduler_version: Annotated[
        str | None,
        Parameter(
            metavar="VERSION", help="kube-scheduler's version; what its image's tag says if not given."
        ),
    ] = None,
    config: _Config = USUAL_CONFIG,
    print_patch: _PrintPatch = False,
    yes: _Yes = False,
) -> int:
    """Make a kube-scheduler ask gpu-aware."""
    return _switch(
        manifest,
        config,
        lambda files: switch_on(files, extender_url, scheduler_version),
        print_patch=print_patch,
        yes=yes,
    )


def disable(
    *,
    manifest: _Manifest,
    config: _Config = USUAL_CONFIG,
    print_patch: _PrintPatch = False,
    yes: _Yes = False,
) -> int:
    """Make a kube-scheduler ask it no more."""
    return _switch(manifest, config, switch_off, print_patch=print_patch, yes=yes)


def _switch(
    manifest: Path, config: str, planned: Callable[[Files], Plan], *, print_patch: bool, yes: bool
) -> int:
    if print_patch and yes:
        raise InputError(
            "--print-patch changes nothing and --yes changes without asking: keep one of the two."
        )
    try:
        files = read_files(manifest.absolute(), config)
        plan = planned(files)
        if not plan.shown:
            sys.stderr.write("tangram: nothing is left to do.\n")
            return 0
        sys.stdout.write(plan.patch())
        sys.stdout.flush()
        if print_patch:
            return 0
        if not yes and not _confirmed():
            sys.stderr.write("tangram: nothing was changed.\n")
            return NOT_CONFIRMED
        carry_out(plan)
    except WireError as error:
        about = error.sentence.replace("the manifest is", f"{manifest} is", 1)
        raise InputError(f"{about.rstrip('.')}.") from None
    except SettingError as error:
        raise InputError(str(error)) from None
    for sentence in (_done(plan, files), plan.remark):
        if sentence:
            sys.stderr.write(f"tangram: {sentence}.\n")
    return 0


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise InputError(
            "nobody is there to be asked, as standard input is no terminal: write --yes to change it, "
            "or --print-patch to change nothing."
        )
    sys.stderr.write("Change it so? The kubelet then restarts kube-scheduler. [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _done(plan: Plan, files: Files) -> str:
    kept = any(change.after is not None for change in plan.unshown)
    changed = " and ".join(str(change.path) for change in plan.shown)
    return f"{changed} changed" + (
        f"; the manifest from before is kept in {files.backup_path}" if kept else ""
    )
