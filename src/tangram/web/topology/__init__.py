"""The picture of one node: its cards, what joins them, and who sits on them."""
