"""The texts of `--help` for the operator. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

OPERATOR: Final = """Keep drivers, MXMACA, runtime, labels and device plugins of all GPU nodes.

As chart metax-operator runs it, two replicas of which one writes; the image of
the parts is that of its own pod, the namespace that of its account:
  tangram operator

From outside, with an image and a namespace of your own:
  tangram operator --kubeconfig ~/.kube/config --namespace metax-operator \\
    --image registry.example/gpu/tangram:1.2.3 --log-dir ''

To see what it does, and why:
  tangram operator --log-level debug --log-format text

What it keeps is said in one object (kubectl get clusteroperator), and how far
it is in that object's status: 'tangram status operator'. docs/operator.md says
what each field means and what each state is.
Exit status: 0 told to end, 1 failed or another replica leads now, 2 the
command line could not be read.
"""

STATUS: Final = """Show what the GPU Operator has done, and what is in the way, part by part.

The parts, every GPU node with driver, MXMACA and runtime, and the upgrade:
  tangram status operator

Wait until everything is ready, for ten minutes at most:
  tangram status operator --wait 10m

For programs:
  tangram status operator -o json

docs/operator.md explains the states. Exit status: 0 everything is ready, 1 it
is not (or there is no operator), 2 the command line or the cluster could not
be read.
"""
