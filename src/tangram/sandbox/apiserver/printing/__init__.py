"""Tables for `kubectl get`: the columns of every kind, and the cells of every object."""

from tangram.sandbox.apiserver.printing.table import as_table

__all__ = ["as_table"]
