"""Releases: everything people install of one tagged version, made from that commit and nothing else."""
