"""What the operator keeps in the cluster, one module a part: from the spec to manifests, without asking anybody."""
