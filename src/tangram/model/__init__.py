"""The nouns of Tangram: frozen records that every layer above agrees on.

Nothing here decides, reads a file or knows an outside format. A record that needs behaviour beyond
deriving one of its own fields belongs in `engine/` or `vendors/`.
"""
