"""What a suggestion comes to in a person's own manifest: the same words, with other amounts or without a rule.

The engine knows what would help and not how it is spelled; a person has a file and wants it back changed. Nothing here
decides anything: whoever hands a changed manifest to somebody asks the scheduler about it first.
"""
