"""The texts of `--help`. They teach by example, because an example can be pasted and a grammar cannot.

Lines stay under 80 columns: the help is wrapped there, and a wrapped example cannot be pasted.
"""

from typing import Final

TANGRAM: Final = """Share, slice and place MetaX and Moore Threads GPUs on Kubernetes.

Nothing here needs a GPU or a cluster to be tried. A whole one on this machine:
  tangram sandbox

What is there, who sits on which card, and who waits?
  tangram status
  tangram top --cluster

Where would this pod go, and why? Why does that one wait?
  tangram explain -f pod.yaml --cluster cluster.yaml
  tangram explain train-7 -n research

Take a card out of placement, and give it back:
  tangram cordon gpu-1 3
  tangram uncordon gpu-1 3

How much room would a stream of pods leave unused?
  tangram simulate --cluster cluster.yaml --pods pods.yaml

What cards are here, how are they joined, and is all well with them?
  tangram devices
  tangram topology
  tangram doctor

Is a cluster ready for it, and is what was installed whole?
  tangram preflight
  tangram verify
"""

EPILOGUE: Final = """Exit status: 0 done, 1 the answer is no, 2 the input could not be read,
3 there is no card to ask about.

Every command explains itself: tangram COMMAND --help
With kubectl on the PATH, 'kubectl tangram COMMAND' is the same.
"""

SANDBOX: Final = """Run a GPU cluster on this machine: no GPU, no cluster, no root.

An API server that kubectl talks to, six simulated machines with MetaX and
Moore Threads cards, and the whole of Tangram as it runs in a cluster:
  tangram sandbox

Then, in another shell, or in a browser at the address that it prints:
  export KUBECONFIG=.sandbox/kubeconfig
  kubectl get nodes
  tangram status

See something happen; the names of the stories are in docs/scenarios.md:
  tangram sandbox --scenario shared-card

Machines of your own (docs/cluster-file.md):
  tangram sandbox --cluster cluster.yaml

Keep everything for the next time:
  tangram sandbox --data ~/my-sandbox

On a real kube-apiserver, kube-controller-manager and kube-scheduler, in a
checkout in which they were built (make testbed):
  tangram sandbox --real

Ctrl-C stops it. docs/sandbox.md says what it is and what it is not.

Exit status: 0 stopped, 1 it failed or a story did not end as it should,
2 the command line or a file could not be read.
"""

STATUS: Final = """Show a cluster on one screen: nodes, cards, who sits where, who waits and why.

The cluster your kubeconfig names, and again every two seconds:
  tangram status
  tangram status --watch

One node card by card; only the pods of one namespace by name:
  tangram status --node gpu-1
  tangram status -n research

Without a cluster, from a file that describes one, or from a dump:
  tangram status --cluster cluster.yaml
  kubectl get nodes,pods -A -o json | tangram status --cluster -

For programs (docs/status.md):
  tangram status -o json

The GPU Operator, its parts and its nodes:
  tangram status operator

Bars show what is given away, not what is computed: 'tangram top' on a node
shows that. Large clusters are shown by kinds of nodes. Why a pod waits, node
by node and card by card, and what would help: tangram explain POD.
Exit status: 0 shown, 2 the command line, a file or the cluster could not be
read.
"""

EXPLAIN: Final = """Say where a pod would go and why, or why it waits and what would help.

Why does this pod of the live cluster wait, or where is it?
  tangram explain train-7 -n research

Where would a new one go? Nothing is made:
  tangram explain -f pod.yaml

The same asked of the running scheduler, which also knows its last verdict,
its promises and its policies (docs/explain.md says how to reach it):
  tangram explain train-7 -n research \\
    --server https://localhost:9443 --server-ca ca.crt

Without a cluster, from a file that describes one (docs/cluster-file.md):
  tangram explain -f pod.yaml --cluster cluster.yaml

From a dump of a real cluster; without -f, all the pods that wait in it:
  kubectl get nodes,pods -A -o json | tangram explain -f pod.yaml --cluster -
  kubectl get nodes,pods -A -o json | tangram explain --cluster -

Why not on that node? Card by card:
  tangram explain -f pod.yaml --node gpu-1

What if the node were chosen in another way?
  tangram explain -f pod.yaml --node-policy spread

For programs (docs/explain.md):
  tangram explain -f pod.yaml -o json

Exit status: 0 it fits, runs or has ended, 1 it waits or is refused, 2 the
command line, a file or the cluster could not be read.
"""

SIMULATE: Final = """Replay a stream of pods over a list of nodes and count the cards left over.

Where would the next hundred pods go? Pods with a count, on a cluster of ours:
  tangram simulate --cluster cluster.yaml --pods pods.yaml

The public openb trace, as its authors replay it, over ten shuffles:
  tangram simulate --nodes nodes.csv --pods pods.csv --policy frag --seeds 42-51

The same question to another policy:
  tangram simulate --nodes nodes.csv --pods pods.csv --policy bestfit --seed 42

The same input and seed give the same bytes with -o json. docs/simulate.md
describes the files and the answer.
"""

SIMULATE_CARDS: Final = """Serve simulated cards to every process on this machine, and change them as they run.

Eight C500 in two groups, as a real server has them (docs/simulated-cards.md):
  tangram simulate-cards serve --cards cards.yaml --socket cards.sock

Whoever opens the socket sees the same cards:
  tangram devices --driver simulated:unix:cards.sock

Break a card, and mend it:
  tangram simulate-cards ctl --socket cards.sock fail GPU-3
  tangram simulate-cards ctl --socket cards.sock recover GPU-3
"""

COMPLETION: Final = """Print a script that makes your shell finish the words of tangram.

In bash, now and for every shell to come:
  source <(tangram completion bash)
  echo 'source <(tangram completion bash)' >> ~/.bashrc

In zsh, as a file in a folder of $fpath:
  tangram completion zsh > ~/.zfunc/_tangram

In fish:
  tangram completion fish > ~/.config/fish/completions/tangram.fish

Names of pods, nodes and namespaces are asked of the cluster your kubeconfig
names. 'kubectl tangram' needs no script: kubectl asks for the words itself.
Exit status: 0 printed, 2 the command line could not be read.
"""
