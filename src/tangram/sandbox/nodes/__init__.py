"""Simulated machines: each has cards that exist only in memory, a kubelet without containers, and our real agents."""
