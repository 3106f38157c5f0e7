"""The node agent: offers this node's cards to the kubelet and gives containers exactly what they were promised."""
