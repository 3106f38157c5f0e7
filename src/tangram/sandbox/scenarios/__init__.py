"""Stories that a sandbox tells: something happens to a cluster, and everybody can look at what becomes of it."""
