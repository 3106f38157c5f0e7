"""The kubelet of this node, seen from outside: its plugin sockets, its pod resources, its own notebook.

Only here is gRPC spoken. What is offered and to whom it is given is decided above; what the messages mean is in `wire`.
"""
