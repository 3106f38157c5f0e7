"""`testbed`: a person's way to a real Kubernetes in a box. The tests use `testbed.cluster` directly."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, NoReturn

from cyclopts import App, CycloptsError, Parameter

from tangram.cli.usage import usage_sentence
from testbed import people, schemas
from testbed.building import build as build_components
from testbed.building import readiness
from testbed.errors import BedError
from testbed.options import Options
from testbed.plane import serve_plane

HELP = """A real Kubernetes in a box with no way out: etcd, the API server, the controllers, the scheduler, up to three
real nodes with containerd, and any number of nodes that exist only as objects. It needs root, Linux and Go."""
EXAMPLES = """Examples:

  testbed up --nodes 3 --kwok 500

  testbed shell -c 'kubectl get nodes'

  testbed logs kubelet-n1 --tail 20

  testbed down

Exit status: 0 done, 1 it could not be done, 2 the command line is wrong."""

app = App(name="testbed", help=HELP, help_epilogue=EXAMPLES, help_format="plaintext", version_flags=[])

Output = Annotated[
    Literal["text", "json"],
    Parameter(name=["--output", "-o"], help="What to print: text for people, json for programs."),
]
Name = Annotated[str, Parameter(help="Which cluster, when there are several; `testbed status` lists them.")]


@app.command
def build() -> None:
    """Build every component from its pinned Go modules into the cache."""
    _print(readiness(build_components()))


@app.command
def up(
    *,
    nodes: Annotated[int, Parameter(help="Real kubelets, 0 to 3.")] = 1,
    kwok: Annotated[int, Parameter(help="Nodes that exist only as objects.")] = 0,
    cdi: Annotated[bool, Parameter(help="Whether containerd resolves CDI names.")] = True,
    fsync: Annotated[bool, Parameter(help="Whether etcd waits for the disk.")] = False,
    scheduler: Annotated[
        Path | None, Parameter(help="A JSON file with fields of KubeSchedulerConfiguration.")
    ] = None,
    api_server: Annotated[
        tuple[str, ...],
        Parameter(
            name="--api-server-flag",
            help="A flag for the API server, e.g. --v=4. May be repeated.",
            allow_leading_hyphen=True,
        ),
    ] = (),
    output: Output = "text",
) -> None:
    """Start a cluster that stays until `testbed down`, builds included where they are missing."""
    options = Options(
        nodes=nodes,
        kwok_nodes=kwok,
        cdi=cdi,
        fsync=fsync,
        scheduler=people.read_fields(scheduler),
        api_server_flags=api_server,
    )
    build_components(sys.stderr)
    name = asyncio.run(people.start(options, say=_say(output)))
    if output == "json":
        _print(json.dumps(people.describe(name)))
    else:
        _print(f"Cluster {name} runs. 'testbed shell' opens a shell in it, 'testbed down' ends it.")


@app.command
def down(
    name: Name = "", *, every: Annotated[bool, Parameter(name="--all", help="End all of them.")] = False
) -> None:
    """End a cluster and remove everything it made. Clusters of running tests are not touched."""
    for ended in people.end(name, every=every):
        _print(f"Cluster {ended} is gone.")


@app.command
def status(*, output: Output = "text") -> None:
    """List the clusters of this machine; clear away what dead ones left."""
    found = people.survey()
    if output == "json":
        _print(json.dumps(found))
        return
    for line in people.survey_lines(found):
        _print(line)


@app.command
def logs(
    component: Annotated[
        str, Parameter(help="etcd, kube-apiserver, kubelet-n1, ...; without one, those there are.")
    ] = "",
    name: Name = "",
    *,
    tail: Annotated[int, Parameter(help="Only the last lines; 0 for all.")] = 0,
) -> None:
    """Print what a component of a cluster wrote."""
    sys.stdout.write(people.log_text(component, name, tail))


@app.command
def shell(
    name: Name = "",
    *,
    command: Annotated[
        str, Parameter(name=["--command", "-c"], help="Run this instead of an interactive shell.")
    ] = "",
) -> int:
    """Open a shell in a cluster's network, with kubectl, helm and KUBECONFIG set; without a cluster, start one."""
    return people.open_shell(name, command, say=_say("text"))


@app.command
def plane(
    *,
    folder: Annotated[Path, Parameter(help="Where its files go.")],
    port: Annotated[int, Parameter(help="Of the API server; 0 for any that is free.")] = 0,
) -> None:
    """Run a control plane on loopback, without root, for the program that started this one and speaks JSON with it."""
    asyncio.run(serve_plane(folder, port))


@app.command(name="schemas")
def state_schemas() -> None:
    """Print the shapes of the sandbox's built-in kinds as this Kubernetes describes them; `make schemas` keeps them."""
    sys.stdout.write(asyncio.run(schemas.ask()))


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _say(output: str) -> Callable[[str], None]:
    def to_person(step: str) -> None:
        if output != "json":
            sys.stderr.write(f"  {step} ...\n")

    return to_person


def main() -> None:
    """Run a command; whatever a person did wrong is told in one sentence."""
    # Asked to end from outside, it tidies up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = app(exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        _fail(usage_sentence(error, "testbed"), status=2)
    except BedError as error:
        _fail(str(error), status=1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        _fail("stopped; nothing was left running", status=130)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _fail(sentence: str, *, status: int) -> NoReturn:
    sys.stderr.write(f"testbed: {sentence}\n")
    sys.exit(status)


if __name__ == "__main__":
    main()
