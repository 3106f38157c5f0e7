"""Tangram shares, slices and places MetaX and Moore Threads GPUs on Kubernetes.

The package holds layers, from `units` at the bottom to `cli` at the top; a lower one never imports a higher
one. Nothing is imported here, so that a daemon on a GPU node loads only the layers it runs.
"""

__version__ = "0.1.0"
