"""Commands that run on a node for as long as it lives, and those that speak to them through the API server."""
