"""Images from a file to where they are needed: a registry, or the container runtime of this machine."""
