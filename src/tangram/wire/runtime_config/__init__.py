"""The configuration files of container runtimes, changed as a careful person would: text in, text out.

Everything that is not ours stays byte for byte, and what was added can be taken out again without a second copy.
"""
