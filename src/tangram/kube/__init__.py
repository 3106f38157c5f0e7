"""The only layer that speaks HTTP to a Kubernetes API server."""
