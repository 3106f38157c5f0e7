"""Bodies in protobuf, which newer kubectl sends for the kinds it knows, read into the JSON they stand for."""

from tangram.sandbox.apiserver.protobuf.pieces import Unreadable
from tangram.sandbox.apiserver.protobuf.reading import MEDIA, read_protobuf

__all__ = ("MEDIA", "Unreadable", "read_protobuf")
