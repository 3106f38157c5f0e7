"""MetaX cards as the vendor's command line tool prints them, for nodes whose library cannot be loaded.

Only reading: what the tool prints after a change has never been seen, and a guess about that would be a guess about
somebody's slice. The parsers are pure, text in and records out, and raise nothing but `ParseError`.
"""
