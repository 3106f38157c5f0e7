"""The whole of Tangram on one machine, with no cluster and no GPU: everything that stands in for Kubernetes."""
