"""The one entry point: every process and every tool is a subcommand of `tangram`.

Commands live in modules of their own, are named here by their import path, and are imported only when they run: a
daemon that restarts with its node should not wait for code it never calls. So this file stays a table of contents.
What a command decides, it asks a lower layer; what a lower layer answers, the command prints.
"""

import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import cyclopts

import tangram
from tangram.cli import manual
from tangram.cli.agents import container_runtime_manual as container_runtime
from tangram.cli.agents import dashboard_manual, operator_manual
from tangram.cli.agents import gpu_aware_manual as gpu_aware
from tangram.cli.agents import manual as agents
from tangram.cli.failures import InputError
from tangram.cli.hardware import manual as hardware
from tangram.cli.images import manual as images
from tangram.cli.installing import manual as installing
from tangram.cli.migrating import manual as migrating
from tangram.cli.plain import clean
from tangram.cli.usage import usage_sentence

USAGE_ERROR: Final = 2
"""Exit status for a command line or a file that could not be read. 1 is left to commands whose answer is "no"."""
INTERRUPTED: Final = 130
"""What shells expect of a process that was stopped with Ctrl-C."""

app = cyclopts.App(
    name="tangram",
    help=manual.TANGRAM,
    help_epilogue=manual.EPILOGUE,
    help_format="plaintext",
    version=tangram.__version__,
)
app.command("tangram.cli.sandbox:sandbox", name="sandbox", help=manual.SANDBOX)
app.command("tangram.cli.status:app", name="status", help=manual.STATUS)
app.command("tangram.cli.explain:explain", name="explain", help=manual.EXPLAIN)
app.command("tangram.cli.simulate:simulate", name="simulate", help=manual.SIMULATE)
app.command("tangram.cli.hardware.devices:devices", name="devices", help=hardware.DEVICES)
app.command("tangram.cli.hardware.topology:topology", name="topology", help=hardware.TOPOLOGY)
app.command("tangram.cli.hardware.top:top", name="top", help=hardware.TOP)
app.command("tangram.cli.hardware.doctor:doctor", name="doctor", help=hardware.DOCTOR)
app.command("tangram.cli.installing.preflight:preflight", name="preflight", help=installing.PREFLIGHT)
app.command("tangram.cli.installing.verify:verify", name="verify", help=installing.VERIFY)
app.command("tangram.cli.installing.cleanup:cleanup", name="cleanup", help=installing.CLEANUP)
app.command(
    "tangram.cli.installing.remove_operator:remove_operator",
    name="remove-operator",
    help=installing.REMOVE_OPERATOR,
)
app.command("tangram.cli.migrating.app:app", name="migrate", help=migrating.MIGRATE)
app.command("tangram.cli.images.app:app", name="images", help=images.IMAGES)
app.command("tangram.cli.agents.operator:operator", name="operator", help=operator_manual.OPERATOR)
app.command("tangram.cli.agents.gpu_device:gpu_device", name="gpu-device", help=agents.GPU_DEVICE)
app.command("tangram.cli.agents.gpu_label:gpu_label", name="gpu-label", help=agents.GPU_LABEL)
app.command(
    "tangram.cli.agents.container_runtime:container_runtime",
    name="container-runtime",
    help=container_runtime.CONTAINER_RUNTIME,
)
app.command(
    "tangram.cli.agents.driver_manager:driver_manager", name="driver-manager", help=agents.DRIVER_MANAGER
)
app.command("tangram.cli.agents.gpu_aware:app", name="gpu-aware", help=gpu_aware.GPU_AWARE)
app.command("tangram.cli.agents.scheduler:scheduler", name="scheduler", help=agents.SCHEDULER)
app.command("tangram.cli.agents.dashboard:dashboard", name="dashboard", help=dashboard_manual.DASHBOARD)
app.command("tangram.cli.agents.cordon:cordon", name="cordon", help=agents.CORDON)
app.command("tangram.cli.agents.cordon:uncordon", name="uncordon", help=agents.UNCORDON)
app.command("tangram.cli.simulate_cards:app", name="simulate-cards", help=manual.SIMULATE_CARDS)
app.command("tangram.cli.completion:completion", name="completion", help=manual.COMPLETION)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command named on the command line, and end the process with its exit status."""
    _open_what_is_closed()
    # gRPC would write lines of its own beside our sentences; whatever is wrong with a call is raised anyway.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        status = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except cyclopts.CycloptsError as error:
        _fail(usage_sentence(error))
    except InputError as error:
        _fail(str(error))
    except BrokenPipeError:
        # The reader has seen enough, as in `tangram explain ... | head`.
        _write_no_more()
        sys.exit(0)
    except OSError as error:
        # Every file is read where its name is known; what is left is an answer that cannot be written.
        _write_no_more()
        _fail(f"the answer cannot be written ({error.strerror}): send it somewhere else.")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _open_what_is_closed() -> None:
    """A stream that whoever started us closed is nothing to write to, and must not become the next file we open."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - for as long as the process lives
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - the same


def _write_no_more() -> None:
    """What is still to be written goes nowhere: Python would try again at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str) -> NoReturn:
    sys.stderr.write(f"tangram: {clean(sentence)}\n")
    sys.exit(USAGE_ERROR)
