"""`metax-docker`: docker, with cards."""
