"""A real Kubernetes in a box with no way out, for the end-to-end tests. Not part of the shipped wheel."""
