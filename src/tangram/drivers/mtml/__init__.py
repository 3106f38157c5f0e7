"""Moore Threads cards through the vendor's management library, by way of its Python package."""
