"""The labeller: tells by node labels which cards and which driver this node has."""
