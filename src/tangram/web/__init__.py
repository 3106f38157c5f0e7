"""The dashboard: the scheduler's own view of the cluster, shown to each person as far as Kubernetes lets them see."""
