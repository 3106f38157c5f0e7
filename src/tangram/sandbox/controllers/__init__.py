"""What kube-controller-manager does for a cluster, over the same HTTP interface, so that both can be compared."""
