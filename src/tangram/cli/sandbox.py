"""`tangram sandbox`: the whole of Tangram on this machine."""

from __future__ import annotations

import resource
import shlex
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

import tangram
from tangram.cli.agents.options import read_short_products
from tangram.cli.documents import read_documents
from tangram.cli.failures import InputError
from tangram.cli.files import read_source
from tangram.cli.plain import clean
from tangram.cli.sandbox_dashboard import DASHBOARD_PORT, Browsers, dashboard_of
from tangram.daemon.errors import SettingError
from tangram.daemon.running import DONE, FAILED, Supervisor, run_service
from tangram.daemon.yaml_text import parse_document
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.sandbox.apiserver.journal import JournalError
from tangram.sandbox.apiserver.server import is_free
from tangram.sandbox.ending import Stopped, ended_by
from tangram.sandbox.failures import NotStarted
from tangram.sandbox.folder import LOG, Folder, shown, taking
from tangram.sandbox.log_file import logging_to
from tangram.sandbox.nodes.described import MachineDescription, default_machines, read_machines
from tangram.sandbox.nodes.kubelet import NotReady
from tangram.sandbox.scenarios.all import SCENARIOS, play
from tangram.sandbox.scenarios.stage import Scenario, ScenarioFailed
from tangram.sandbox.starting import Options, Sandbox, sandbox_in
from tangram.wire.clusterfile.reading import is_short_file
from tangram.wire.errors import WireError
from tangram.wire.metax_labels import Choices

USUAL_FOLDER: Final = Path(".sandbox")
USUAL_PORT: Final = 16443
USUAL_PROGRAMS: Final = Path(".venv/bin")
LARGEST_PORT: Final = 65535
FILES: Final = 8192
"""Open at once, at most; a sandbox of six machines has three hundred."""


def sandbox(
    *,
    cluster: Annotated[
        str,
        Parameter(
            metavar="FILE", show_default=False, help="The machines (docs/cluster-file.md); six if not given."
        ),
    ] = "",
    scenario: Annotated[
        str, Parameter(metavar="NAME", show_default=False, help="Play a story, then go on running.")
    ] = "",
    data: Annotated[
        Path | None,
        Parameter(metavar="DIR", show_default=False, help="Keep everything there, for the next time."),
    ] = None,
    port: Annotated[
        int, Parameter(metavar="PORT", help="Of the API server; 0 takes any that is free.")
    ] = USUAL_PORT,
    dashboard: Annotated[
        bool, Parameter(show_default=False, help="Serve the dashboard too; --no-dashboard leaves it out.")
    ] = True,
    dashboard_port: Annotated[
        int | None,
        Parameter(
            metavar="PORT",
            show_default=False,
            help=f"Of the dashboard; 0 takes any that is free. {DASHBOARD_PORT} if that is free.",
        ),
    ] = None,
    scheduler_config: Annotated[
        Path | None,
        Parameter(
            metavar="FILE",
            show_default=False,
            help="The scheduler's own file, followed as it changes (docs/scheduler-config.md).",
        ),
    ] = None,
    product_names: Annotated[
        str,
        Parameter(
            metavar="SPELLING",
            help="How nodes' labels spell products: library (MXC500), or short (C500) as in MetaX's manual.",
        ),
    ] = "library",
    real: Annotated[
        bool, Parameter(negative="", help="On real components of Kubernetes (make testbed builds them).")
    ] = False,
) -> int:
    """Run a GPU cluster without GPUs."""
    story = _scenario(scenario)
    if not 0 <= port <= LARGEST_PORT:
        raise InputError(f"--port is {port}: it is between 1 and {LARGEST_PORT}, or 0 for any that is free.")
    if dashboard_port is not None and not 0 <= dashboard_port <= LARGEST_PORT:
        raise InputError(
            f"--dashboard-port is {dashboard_port}: it is between 1 and {LARGEST_PORT}, or 0 for any that is free."
        )
    if dashboard and dashboard_port and not is_free(dashboard_port):
        raise InputError(
            f"port {dashboard_port} is in use by another program: name another one with --dashboard-port, or 0 for any "
            "that is free."
        )
    browsers = Browsers(wanted=dashboard, port=dashboard_port, keep=data is not None)
    options = Options(
        folder=(data or USUAL_FOLDER).absolute(),
        keep=data is not None,
        port=port,
        machines=_machines(cluster, story),
        real=real,
        scheduler_config=scheduler_config,
        labels=Choices(short_products=read_short_products(product_names)),
    )
    _allow_many_files()
    try:
        with taking(options.folder) as folder, logging_to(folder.path):
            return run_service(lambda supervisor: _serve(folder, options, browsers, story, supervisor))
    except (SettingError, JournalError) as error:
        raise InputError(str(error)) from None
    except BrokenPipeError:
        raise
    except (ApiError, ApiUnreachable, NotStarted, NotReady, OSError) as error:
        _complain(f"the sandbox could not be started: {_without_stop(error)}", options.folder / LOG)
        return FAILED


def _allow_many_files() -> None:
    """Every machine has sockets, and every service connections: more than some systems allow unless asked."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < FILES:
        wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _serve(
    folder: Folder, options: Options, browsers: Browsers, story: Scenario | None, supervisor: Supervisor
) -> int:
    began, well = time.monotonic(), True

    def step(what: str) -> None:
        _say(f"  ✓ {what:<66} {time.monotonic() - began:4.1f} s")

    _say(f"Tangram {tangram.__version__} sandbox: a GPU cluster on this machine, without GPUs.\n")
    # Asked for the end while it starts, or twice: it goes as far as it must and no further.
    with suppress(Stopped):
        async with (
            sandbox_in(folder, options, supervisor, step) as box,
            dashboard_of(box, browsers) as page,
        ):
            _say(_welcome(box, page, time.monotonic() - began, kept=options.keep))
            well = story is None or await _told(story, box)
            await supervisor.stopping.wait()
            _say("\nStopping ...")
            await supervisor.until_stopped()
    for sentence in supervisor.unhealthy():
        _complain(f"the sandbox ended by itself: {_without_stop(sentence)}", folder.log)
    return DONE if well and not supervisor.unhealthy() else FAILED


async def _told(story: Scenario, box: Sandbox) -> bool:
    """Whether the story ended as it should; one that nobody waited for did."""
    try:
        async with ended_by(box.supervisor.stopping):
            await play(
                story, box, tell=lambda line: _say(f"  {line}"), look=lambda line: _say(f"    $ {line}")
            )
    except Stopped:
        pass
    except (ScenarioFailed, ApiError, ApiUnreachable, NotReady) as failure:
        _complain(
            f"the scenario {story.name} did not end as it should: {_without_stop(failure)}", box.folder.log
        )
        return False
    return True


def _welcome(box: Sandbox, page: str, seconds: float, *, kept: bool) -> str:
    folder = box.folder
    lines = [
        "",
        f"Ready after {seconds:.1f} s. In another shell:",
        "",
        f"  export KUBECONFIG={shlex.quote(shown(folder.kubeconfig))}{_path_too()}",
        "  kubectl get nodes",
        "  kubectl apply -f examples/10-share-a-card/pod.yaml",
        "  tangram status",
        "",
    ]
    if page:
        lines += [f"Dashboard  {page}", ""]
    if shutil.which("kubectl") is None:
        lines += [
            "There is no kubectl on the PATH: any release from 1.28 on will do, and 'tangram status' needs none.",
            "",
        ]
    fate = "keeps its state there" if kept else "forgets everything; --data DIR keeps it"
    lines += [f"Ctrl-C stops the sandbox and {fate}. Log: {shown(folder.log)}", ""]
    return "\n".join(lines)


def _path_too() -> str:
    """What else to export where the shell would not find this very command."""
    if shutil.which("tangram") is not None:
        return ""
    here = Path(sys.argv[0]).absolute().parent
    return f" PATH={here if here != USUAL_PROGRAMS.absolute() else f'$PWD/{USUAL_PROGRAMS}'}:$PATH"


def _scenario(name: str) -> Scenario | None:
    if not name:
        return None
    found = next((each for each in SCENARIOS if each.name == name), None)
    if found is None:
        raise InputError(
            f"--scenario is {name!r:.80}: there are {', '.join(each.name for each in SCENARIOS)}; write one of these."
        )
    return found


def _machines(cluster: str, story: Scenario | None) -> tuple[MachineDescription, ...]:
    if cluster and story is not None:
        raise InputError(
            f"--cluster {cluster!r:.80} and --scenario {story.name} do not go together: a story is about machines that "
            "it knows by name; leave one of them out."
        )
    if not cluster:
        return (
            read_machines(parse_document(story.cluster))
            if story is not None and story.cluster
            else default_machines()
        )
    source = read_source(cluster, "--cluster")
    documents = read_documents(source, lambda _done, _total: None)
    if len(documents) > 1 or not is_short_file(documents[0]):
        raise InputError(
            f"{source.name} is no cluster file: it has one document that begins with 'tangram: cluster/v1' "
            "(docs/cluster-file.md); write one, or leave --cluster out for the usual machines."
        )
    try:
        return read_machines(documents[0])
    except WireError as error:
        raise InputError(f"{source.name}: {error.sentence}.") from None


def _complain(clause: str, log: Path) -> None:
    sys.stderr.write(f"tangram: {clean(clause)}. The log is {clean(str(log))}\n")


def _without_stop(words: object) -> str:
    return str(words).rstrip().removesuffix(".")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
