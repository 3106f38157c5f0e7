"""The driver manager: brings the kernel driver and MXMACA onto a node, and takes them away again."""
