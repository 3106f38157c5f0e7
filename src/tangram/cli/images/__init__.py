"""`tangram images`: what is in an archive of images, and how it gets to a registry or onto a node."""
