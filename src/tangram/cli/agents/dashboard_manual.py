"""The text of `--help` for the dashboard. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

DASHBOARD: Final = """Show the cluster in a browser: every card, every link, every reason.

For yourself, with your own kubeconfig, on this machine alone (the scheduler is
reached through 'kubectl port-forward -n kube-system svc/tangram-scheduler 9443'
and its authority is in the Secret that docs/dashboard.md names):
  tangram dashboard --sign-in none --server https://127.0.0.1:9443 \\
    --server-ca ca.crt --log-dir ''

As the chart runs it in a cluster, for everybody who has a Kubernetes token:
  tangram dashboard --address :8443 --tls-cert tls.crt --tls-key tls.key \\
    --server-ca ca.crt

Behind a proxy that signs people in, such as oauth2-proxy in the same pod:
  tangram dashboard --sign-in proxy --proxy-address 127.0.0.1:8089 \\
    --proxy-headers oauth2-proxy --server-ca ca.crt

With buttons that cordon cards, for those who may patch nodes, and with a
history that outlives a restart:
  tangram dashboard --actions --history /data/history.json --server-ca ca.crt

Everybody sees what Kubernetes lets them see, and no more. Probes are answered
at /healthz and /readyz, metrics at /metrics. docs/dashboard.md says the rest.
Exit status: 0 told to end, 1 failed, 2 the command line could not be read.
"""
