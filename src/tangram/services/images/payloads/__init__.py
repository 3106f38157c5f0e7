"""Payload images: made from a folder, and looked into."""
