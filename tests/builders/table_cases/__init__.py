"""Objects of every kind, and the tables a real server made of them."""
