"""The texts of `--help` for the commands about this machine. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

_STATUS = """Exit status: 0 everything was read, 1 something could not be read,
2 the command line could not be read, 3 there is no card here.
"""

DEVICES: Final = f"""Show every card of this machine, what it does now and who is on it.

The cards of this machine, whoever made them:
  tangram devices

Again every five seconds, until Ctrl-C:
  tangram devices --watch 5

For programs (docs/hardware.md):
  tangram devices -o json

Without hardware, from a file that describes cards:
  tangram devices --driver simulated:cards.yaml

{_STATUS}"""

TOPOLOGY: Final = f"""Show how the cards of this machine are joined, and what that is worth.

The matrix, the groups, and what each request size would get:
  tangram topology

As a picture:
  tangram topology --svg cards.svg

{_STATUS}"""

TOP: Final = f"""Show cards and whoever fills them, live: of this machine, or of a cluster.

What the cards of this machine do now:
  tangram top
  tangram top --interval 5s

One frame, for a log:
  tangram top --once

What is given away of every card of the cluster your kubeconfig names:
  tangram top --cluster
  tangram top --cluster --sort load --once

docs/status.md says why it cannot show there what cards compute.
{_STATUS}With --cluster, 2 also stands for a cluster that could not be read.
"""

DOCTOR: Final = """Check a machine from the PCI bus to kubelet, or a cluster; say what to do.

What keeps this machine from serving cards?
  tangram doctor

From a container that has the host mounted:
  tangram doctor --root /host

With a library that is not where it usually is:
  tangram doctor --driver mxsml:/opt/other/libmxsml.so

What in a cluster does not go together with the scheduler?
  tangram doctor --cluster

It changes nothing, and answers within --timeout whatever hangs. Checks that
need root say so. Exit status: 0 nothing failed, 1 a check failed, 2 the
command line could not be read, 3 there is nothing to check here.
"""
