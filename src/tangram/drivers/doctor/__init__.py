"""Why this machine can, or cannot, serve cards to pods: one probe per layer, each with a reason and a remedy.

A probe looks and never changes anything. It may be stopped by missing rights or by a file that does not answer; both
are findings of their own, and neither keeps the other probes from answering.
"""
