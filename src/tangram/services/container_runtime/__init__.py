"""Runtime `metax` on this node: registered with whatever runs containers here, kept so, and taken out again."""
