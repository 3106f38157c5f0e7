"""Small clusters and pods in a line or two, for tests of every layer."""
