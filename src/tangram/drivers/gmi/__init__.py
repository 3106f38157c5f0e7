"""Moore Threads cards through the vendor's command-line tool, where the library or its package is missing."""
