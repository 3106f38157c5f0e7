"""A scheduler loop that does what kube-scheduler does, where extenders, people and kubectl can tell the difference."""
