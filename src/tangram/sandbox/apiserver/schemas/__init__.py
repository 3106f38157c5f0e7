"""What objects look like: the shapes of built-in and defined kinds, how bodies are held against them, OpenAPI."""

from tangram.sandbox.apiserver.schemas.crd_faults import crd_schema_faults
from tangram.sandbox.apiserver.schemas.crds import shape_of_crd
from tangram.sandbox.apiserver.schemas.data import built_in
from tangram.sandbox.apiserver.schemas.openapi import (
    openapi_v2,
    openapi_v2_protobuf,
    openapi_v3,
    openapi_v3_index,
)
from tangram.sandbox.apiserver.schemas.pruning import fill_defaults, prune
from tangram.sandbox.apiserver.schemas.reading import read_json
from tangram.sandbox.apiserver.schemas.reading_yaml import read_yaml
from tangram.sandbox.apiserver.schemas.strict import unknown_fields, wrong_types
from tangram.sandbox.apiserver.schemas.values import value_faults

__all__ = [
    "built_in",
    "crd_schema_faults",
    "fill_defaults",
    "openapi_v2",
    "openapi_v2_protobuf",
    "openapi_v3",
    "openapi_v3_index",
    "prune",
    "read_json",
    "read_yaml",
    "shape_of_crd",
    "unknown_fields",
    "value_faults",
    "wrong_types",
]
