"""What every long-running process of Tangram has: logs, an address for probes and metrics, a clean end.

No service's own knowledge belongs here; a service that needs another's code needs it in a layer below, or not at all.
"""
