"""metax-docker for hosts without Kubernetes: one archive with an installer for each architecture."""
