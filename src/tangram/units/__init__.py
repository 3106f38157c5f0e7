"""Quantities, memory sizes, durations and identifiers.

The lowest layer: it imports nothing of ours and nothing of anyone else's.
Import the module you need (`from tangram.units import memory`); this package
re-exports nothing, so that a command that only needs one name stays quick to start.
"""
