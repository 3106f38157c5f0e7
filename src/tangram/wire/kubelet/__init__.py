"""What the kubelet says to device plugins and about pods: its messages, its services and its checkpoint.

The `_pb2` modules are made from `proto/` by `make protos` and imported by their neighbours here only; everyone else
takes messages and methods from `deviceplugin` and `podresources`. Nothing here opens a socket.
"""
