"""Codecs between our records and other people's formats; nothing else builds or parses those."""
