"""What each vendor's users may ask for, and in which words.

One folder per vendor, one Protocol (`protocol.py`), and `admission.py` that reads a whole pod with all of them.
Vendors never import each other; a new vendor is one folder here and one in `drivers/`.
"""
