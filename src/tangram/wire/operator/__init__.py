"""What the parts of the GPU Operator say to each other and to people: names, states on nodes, payloads, policies."""
