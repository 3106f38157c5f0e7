"""The texts of `--help` for the commands around an installation. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

PREFLIGHT: Final = """Check a cluster, or a machine, before Tangram is installed; say what to do.

Is the cluster your kubeconfig names ready, and may you install there?
  tangram preflight

Into a namespace of its own, and only on some nodes:
  tangram preflight -n tangram -l gpu=true

On a node: driver, kernel module, device nodes, cgroups, CDI?
  tangram preflight --node
  tangram preflight --node --root /host

For programs (docs/preflight.md):
  tangram preflight -o json

Nothing is made: what has to be tried is sent as a dry run. What you may not
see is skipped, with a sentence. docs/preflight.md has the support matrix.
Exit status: 0 nothing stands in the way, 1 something does, 2 the command line
could not be read.
"""

VERIFY: Final = """Check an installation: what nodes announce, who answers, what admission does.

Is everything there and ready? Waits until it is:
  tangram verify
  tangram verify --timeout 10m

Only these nodes, each of which must have cards:
  tangram verify -l gpu=true

Place a tiny slice, show the card it gets, and delete it again:
  tangram verify --pod -n research

For programs (docs/preflight.md):
  tangram verify -o json

Nothing is made but what --pod makes: admission is tried with dry runs. What
you may not see is skipped, with a sentence.
Exit status: 0 all is well, 1 something is not, 2 the command line could not
be read.
"""

CLEANUP: Final = """Remove what an installation wrote beside its charts, after it was uninstalled.

The charts do it by themselves; this is for what was installed otherwise:
  tangram cleanup

What would be removed, name by name:
  tangram cleanup --dry-run -o json

After an installation of a chart of the vendor's, in a namespace of its own:
  tangram cleanup --chart metax-gpu-extensions -n metax
  tangram cleanup --chart metax-operator -n metax-operator

Only these nodes:
  tangram cleanup --node gpu-1 gpu-2

Waits until Tangram's pods have ended. Labels, annotations, conditions and
amounts of nodes go if Tangram was the last to write them. What stays is told,
with the reason (docs/uninstall.md).
Exit status: 0 all is removed, 1 something could not be, 2 the command line
could not be read.
"""

REMOVE_OPERATOR: Final = """Delete the ClusterOperator and wait until every node is as it was before.

The chart does it by itself, before anything else is uninstalled:
  tangram remove-operator
  tangram remove-operator -n metax-operator --timeout 30m

For programs (docs/operator-upgrades.md):
  tangram remove-operator -o json

The operator does the work and must run. A node that is away or silent is
passed over after two minutes, with an event; annotation
tangram.dev/operator.remove-limit on the object says otherwise.
Exit status: 0 it is gone, 1 it is not, 2 the command line could not be read.
"""
