"""What may stand at each place of an object: fields, their types, and how two versions of a list are merged.

One form for kinds that are built in and for those a CustomResourceDefinition describes, so that strict reading, the
four kinds of patch, pruning and defaulting are written once. A shape may contain itself, as JSONSchemaProps does, so
shapes are built first and filled afterwards; nobody changes one once it is in use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

Type = Literal["object", "array", "string", "integer", "number", "boolean", "any"]

MISSING: Final = object()
"""There is no default. None would be one."""


@dataclass(slots=True, eq=False, kw_only=True)
class Shape:
    type: Type = "any"
    """`any`: nothing is known, or several types are allowed (see `int_or_string`)."""
    properties: dict[str, Shape] = field(default_factory=dict["str", "Shape"])
    """The fields of an object."""
    values: Shape | None = None
    """Of an object that is a map with free keys: what each value is."""
    items: Shape | None = None
    """Of an array: what each element is."""
    int_or_string: bool = False
    nullable: bool = False
    preserve: bool = False
    """Fields that are not known are kept (x-kubernetes-preserve-unknown-fields)."""
    embedded: bool = False
    """A whole object of any kind (x-kubernetes-embedded-resource)."""
    required: tuple[str, ...] = ()
    default: Any = MISSING
    limits: dict[str, Any] = field(default_factory=dict[str, Any])
    """format, enum, pattern, minimum, maxLength, minItems ... under the names of OpenAPI."""
    merge_key: str = ""
    """A strategic merge patch finds an element of this array by this field (x-kubernetes-patch-merge-key)."""
    strategies: frozenset[str] = frozenset()
    """merge, retainKeys, replace (x-kubernetes-patch-strategy)."""
    list_type: Literal["", "atomic", "set", "map"] = ""
    """For server-side apply (x-kubernetes-list-type); empty means atomic."""
    list_keys: tuple[str, ...] = ()
    atomic: bool = False
    """An object or map that is owned as a whole (x-kubernetes-map-type: atomic)."""
    definition: str = ""
    """The name of the built-in type, such as io.k8s.api.core.v1.PodSpec; empty inside CRDs."""


ANYTHING: Final = Shape(preserve=True)
