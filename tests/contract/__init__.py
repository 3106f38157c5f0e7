"""What an API server answers, asked in the same words of the embedded one and of the real one.

A case says what to ask and what to look at, never what is right: the real kube-apiserver says that. `recorded.py` keeps
what it said, so that `make test` can compare without a cluster, and `differences.py` names every case in which the
embedded server is known to differ, with the reason.
"""
