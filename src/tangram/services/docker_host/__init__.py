"""A host without Kubernetes: cards and MXMACA for the containers that people start with docker, podman or nerdctl."""
