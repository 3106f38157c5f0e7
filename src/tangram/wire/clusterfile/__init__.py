"""Tangram's own short files: a cluster in a dozen lines, and pods in one line each.

They are for people who want to ask a question before they have a cluster, so they are strict where Kubernetes is
lenient: a key that is not known is refused with the nearest one that is, because a file that means something else
than its author thinks gives a wrong answer with a straight face. Decoded YAML or JSON comes in; no file is read here.
"""
