"""CustomResourceDefinitions, right and wrong, and the schema of a kind with something of everything."""

from typing import Any

Object = dict[str, Any]

GROUP = "shapes.example.io"
WIDGET: Object = {
    "type": "object",
    "description": "A thing with something of everything.",
    "properties": {
        "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}},
        "spec": {
            "type": "object",
            "required": ["size", "mode"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 10, "format": "int32"},
                "plain": {"type": "integer"},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "pattern": {"type": "string", "pattern": "^a+$", "maxLength": 5, "minLength": 2},
                "list": {"type": "array", "maxItems": 2, "minItems": 1, "items": {"type": "string"}},
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "map": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "required": ["k"],
                        "properties": {"k": {"type": "string"}, "v": {"type": "integer", "default": 7}},
                    },
                },
                "port": {"x-kubernetes-int-or-string": True},
                "narrowPort": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": "^x",
                },
                "number": {"type": "number", "multipleOf": 0.5, "exclusiveMinimum": True, "minimum": 0},
                "when": {"type": "string", "format": "date-time"},
                "day": {"type": "string", "format": "date"},
                "ip": {"type": "string", "format": "ipv4"},
                "cidr": {"type": "string", "format": "cidr"},
                "mac": {"type": "string", "format": "mac"},
                "uri": {"type": "string", "format": "uri"},
                "host": {"type": "string", "format": "hostname"},
                "email": {"type": "string", "format": "email"},
                "duration": {"type": "string", "format": "duration"},
                "bytes": {"type": "string", "format": "byte"},
                "uuid": {"type": "string", "format": "uuid"},
                "nonsense": {"type": "string", "format": "nonsense"},
                "any": {"x-kubernetes-preserve-unknown-fields": True},
                "free": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"in": {"type": "object", "properties": {"x": {"type": "string"}}}},
                },
                "embedded": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "labels": {
                    "type": "object",
                    "additionalProperties": {"type": "string", "maxLength": 3},
                    "maxProperties": 2,
                    "minProperties": 1,
                },
                "anything": {"type": "object", "additionalProperties": True},
                "nullable": {"type": "string", "nullable": True, "default": "d"},
                "defaulted": {"type": "string", "default": "dd"},
                "object": {
                    "type": "object",
                    "default": {},
                    "properties": {"a": {"type": "integer", "default": 3}},
                },
                "switch": {"type": "boolean"},
                "one": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
                "either": {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 2}]},
                "both": {"type": "integer", "allOf": [{"minimum": 5}, {"multipleOf": 5}]},
                "but": {"type": "string", "not": {"enum": ["x"]}},
                "few": {"type": "integer", "enum": [1, 2]},
            },
        },
        "status": {"type": "object", "properties": {"a": {"type": "string"}}},
    },
}


def definition(
    schema: Object | None = None,
    *,
    name: str = "",
    versions: list[Object] | None = None,
    names: Object | None = None,
    **spec: Any,  # noqa: ANN401 - any field of the specification
) -> Object:
    called = {
        "plural": "gadgets",
        "singular": "gadget",
        "kind": "Gadget",
        "listKind": "GadgetList",
        **(names or {}),
    }
    said = {
        "group": GROUP,
        "names": called,
        "scope": "Namespaced",
        "versions": [version(schema=schema)] if versions is None else versions,
        **spec,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name or f"{called['plural']}.{said['group']}"},
        "spec": said,
    }


def version(
    name: str = "v1",
    *,
    storage: bool = True,
    schema: Object | None = None,
    **more: Any,  # noqa: ANN401 - any field of a version
) -> Object:
    written = {"openAPIV3Schema": {"type": "object"} if schema is None else schema}
    return {"name": name, "served": True, "storage": storage, "schema": written, **more}


def with_spec(schema: Object) -> Object:
    """A definition of which only `spec` is of interest."""
    return definition({"type": "object", "properties": {"spec": schema}})


def widgets() -> Object:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return definition(names=names, versions=[version(schema=WIDGET, subresources={"status": {}})])


_ITEM: Object = {"type": "object", "properties": {"a": {"type": "string"}}}
_TEXTS: Object = {"type": "array", "items": {"type": "string"}}
_DESCRIBED: Object = {"type": "object", "description": "x"}

DEFINITIONS: dict[str, Object] = {
    "plain": definition(),
    "everything": widgets(),
    "name of another": definition(name=f"foo.{GROUP}"),
    "group without a dot": definition(group="nodot"),
    "scope nobody knows": definition(scope="World"),
    "no scope": definition(scope=""),
    "no versions": definition(versions=[]),
    "none stored": definition(versions=[version(storage=False)]),
    "two stored": definition(versions=[version(), version("v2", schema=_DESCRIBED)]),
    "version twice": definition(versions=[version(), version(storage=False, schema=_DESCRIBED)]),
    "version in capitals": definition(versions=[version("V1")]),
    "no schema": definition(versions=[{"name": "v1", "served": True, "storage": True}]),
    "two versions": definition(versions=[version(), version("v2", storage=False)]),
    "second version wrong": definition(
        versions=[
            version(),
            version("v2", storage=False, schema={"type": "object", "properties": {"spec": {"type": "foo"}}}),
        ]
    ),
    "no kind": definition(names={"kind": ""}),
    "kind and list the same": definition(names={"listKind": "Gadget"}),
    "short name wrong": definition(names={"shortNames": ["G!"]}),
    "category wrong": definition(names={"categories": ["A!"]}),
    "root without type": definition({}),
    "root a text": definition({"type": "string"}),
    "root a map": definition({"type": "object", "additionalProperties": {"type": "string"}}),
    "field without type": with_spec({"properties": {"a": {"type": "string"}}}),
    "type nobody knows": with_spec({"type": "foo"}),
    "list of nothing": with_spec({"type": "array"}),
    "list of no type": with_spec({"type": "array", "items": {}}),
    "fields and a map": with_spec({**_ITEM, "additionalProperties": {"type": "string"}}),
    "no more fields": with_spec({"type": "object", "additionalProperties": False}),
    "unique items": with_spec({**_TEXTS, "uniqueItems": True}),
    "reference": with_spec({"type": "object", "$ref": "#/x"}),
    "pattern of fields": with_spec({"type": "object", "patternProperties": {"a": {"type": "string"}}}),
    "dependencies": with_spec({"type": "object", "dependencies": {"a": ["b"]}}),
    "definitions": with_spec({"type": "object", "definitions": {"a": {"type": "string"}}}),
    "id": with_spec({"type": "object", "id": "x"}),
    "more items": with_spec({**_TEXTS, "additionalItems": True}),
    "several items": with_spec({"type": "array", "items": [{"type": "string"}]}),
    "type null": with_spec({"type": "null"}),
    "preserve false": with_spec({"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
    "map type of a text": with_spec({"type": "string", "x-kubernetes-map-type": "atomic"}),
    "map type nobody knows": with_spec({"type": "object", "x-kubernetes-map-type": "foo"}),
    "list type of a text": with_spec({"type": "string", "x-kubernetes-list-type": "set"}),
    "list type nobody knows": with_spec({**_TEXTS, "x-kubernetes-list-type": "foo"}),
    "keys without a map": with_spec({"type": "array", "items": _ITEM, "x-kubernetes-list-map-keys": ["a"]}),
    "map of texts": with_spec({**_TEXTS, "x-kubernetes-list-type": "map"}),
    "keys that are not there": with_spec(
        {
            "type": "array",
            "items": _ITEM,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a", "b"],
        }
    ),
    "set of objects": with_spec({"type": "array", "items": _ITEM, "x-kubernetes-list-type": "set"}),
    "keys twice, nullable, objects": with_spec(
        {
            "type": "array",
            "items": {
                "type": "object",
                "nullable": True,
                "required": ["a"],
                "properties": {"a": {"type": "object"}},
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a", "a"],
        }
    ),
    "embedded and empty": with_spec({"type": "object", "x-kubernetes-embedded-resource": True}),
    "embedded without type": with_spec(
        {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    ),
    "number or text, and a type": with_spec({"type": "string", "x-kubernetes-int-or-string": True}),
    "number or text, and anything": with_spec(
        {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}
    ),
    "name restricted": definition(
        {
            "type": "object",
            "properties": {
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}
            },
        }
    ),
    "labels restricted": definition(
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        }
    ),
    "metadata a text": definition({"type": "object", "properties": {"metadata": {"type": "string"}}}),
    "kind a number": definition({"type": "object", "properties": {"kind": {"type": "integer"}}}),
    "default in metadata": definition(
        {
            "type": "object",
            "properties": {
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}
            },
        }
    ),
    "type below anyOf": with_spec({"type": "string", "anyOf": [{"type": "string"}]}),
    "fields only below anyOf": with_spec(
        {"type": "object", "anyOf": [{"properties": {"a": {"minimum": 3}}}]}
    ),
    "fields only below the root's anyOf": definition(
        {"type": "object", "anyOf": [{"properties": {"a": {"minimum": 3}}}]}
    ),
    "words below allOf": with_spec(
        {
            "type": "object",
            "allOf": [
                {
                    "description": "x",
                    "title": "y",
                    "nullable": True,
                    "default": 3,
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            ],
        }
    ),
    "map below not": with_spec({"type": "object", "not": {"additionalProperties": {"type": "string"}}}),
    "pattern wrong": with_spec({"type": "string", "pattern": "("}),
    "default of another type": with_spec({"type": "integer", "default": "x"}),
    "default with unknown fields": with_spec({**_ITEM, "default": {"b": 1}}),
    "root nullable": definition({"type": "object", "nullable": True}),
    "root with status and enum": definition(
        versions=[version(schema={"type": "object", "enum": [{}]}, subresources={"status": {}})]
    ),
    "column of no type": definition(
        versions=[version(additionalPrinterColumns=[{"name": "a", "type": "foo", "jsonPath": "spec"}])]
    ),
    "column of nothing": definition(
        versions=[version(additionalPrinterColumns=[{"name": "", "type": "", "jsonPath": ""}])]
    ),
    "column of no format": definition(
        versions=[
            version(
                additionalPrinterColumns=[
                    {"name": "a", "type": "string", "format": "foo", "jsonPath": ".spec"}
                ]
            )
        ]
    ),
    "scale elsewhere": definition(
        versions=[version(subresources={"scale": {"specReplicasPath": ".foo", "statusReplicasPath": "x"}})]
    ),
    "preserve everything": definition(preserveUnknownFields=True),
    "conversion nobody knows": definition(conversion={"strategy": "Foo"}),
    "conversion by nobody": definition(conversion={"strategy": "Webhook"}),
    "rule without a rule": with_spec({"type": "object", "x-kubernetes-validations": [{"rule": ""}]}),
    "protected group": definition(group="foo.k8s.io"),
    "warning of nothing": definition(versions=[version(deprecationWarning="x")]),
    "default in a map": with_spec(
        {"type": "object", "additionalProperties": {"type": "string", "default": "x"}}
    ),
    "enum of nothing": with_spec({"type": "string", "enum": []}),
}
