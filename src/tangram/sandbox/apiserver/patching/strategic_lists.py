"""Lists in a strategic merge patch: merged by key or as sets, and put in an order that surprises nobody.

Elements of the patch come in its order. Those it does not mention keep theirs among themselves, and stand before the
first element of the patch that was behind them before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.go_writing import go_text
from tangram.sandbox.apiserver.patching.copying import Json
from tangram.sandbox.apiserver.patching.refusing import does_not_apply, server_error
from tangram.sandbox.apiserver.refusals import Refused, bad_request
from tangram.sandbox.apiserver.shape import Shape

DIRECTIVE: Final = "$patch"
NOTHING: Final = object()
"""Left when something was only a directive."""
Merge = Callable[[Object, Object], Object]


def without_directives(value: Json) -> Json:
    """For what has nothing to be merged with. `NOTHING` if it is a directive itself."""
    if isinstance(value, dict):
        held = cast("Object", value)
        if DIRECTIVE in held:
            return NOTHING
        cleaned = {key: without_directives(each) for key, each in held.items()}
        return {key: each for key, each in cleaned.items() if each is not NOTHING}
    if isinstance(value, list):
        return [each for each in map(without_directives, cast("list[Json]", value)) if each is not NOTHING]
    return value


def merged_lists(original: list[Json], patch: list[Json], shape: Shape, merge: Merge) -> list[Json]:
    """Both lists in one; `merge` is asked about elements that are in both."""
    if not original and not patch:
        return original
    if element_type(original, patch) is not dict:
        return arranged([*original, *patch], patch, original, "")
    return _merged_by_key(original, patch, shape, merge)


def deleted_from(original: list[Json], patch: list[Json], shape: Shape, merge: Merge) -> list[Json]:
    """Without what the patch lists. Of maps nothing is deleted: the real server merges them here too."""
    if not original and not patch:
        return original
    if element_type(original, patch) is not dict:
        return [each for each in original if each not in patch]
    return _merged_by_key(original, patch, shape, merge)


def _merged_by_key(original: list[Object], patch: list[Object], shape: Shape, merge: Merge) -> list[Object]:
    key = shape.merge_key
    if not key:
        raise server_error("cannot merge lists without merge key for struct")
    original, patch = _directives_followed(original, patch, key)
    joined = list(original)
    for element in patch:
        value = _key_of(element, key)
        at = next((at for at, each in enumerate(joined) if key in each and each[key] == value), None)
        if at is None:
            joined.append(element)
        else:
            joined[at] = merge(joined[at], element)
    return arranged(joined, patch, original, key)


def _directives_followed(
    original: list[Object], patch: list[Object], key: str
) -> tuple[list[Object], list[Object]]:
    """What is left of both lists when the elements of the patch that are directives have been followed."""
    plain = [element for element in patch if DIRECTIVE not in element]
    replaces = False
    for element in patch:
        match element.get(DIRECTIVE, NOTHING):
            case "delete":
                gone = _key_of(element, key)
                original = [each for each in original if key not in each or each[key] != gone]
            case "replace":
                replaces = True
            case "merge":
                raise server_error("merging lists cannot yet be specified in the patch")
            case other if other is not NOTHING:
                raise server_error(f"unknown patch type: {go_text(other)} in map: {go_text(element)}")
            case _:
                pass
    return (plain, []) if replaces else (original, plain)


def arranged(items: list[Json], asked: Sequence[Json], before: Sequence[Json], key: str) -> list[Json]:
    """Every item once: those named in `asked` in its order, and the others where they were in `before`."""
    names = _names(items, key)
    wanted, known = _names(asked, key), _names(before, key)
    unique: dict[int, Json] = {}
    for at, name in enumerate(names):
        # Only texts and numbers are folded into one; two maps with one key are two elements.
        if key or names.index(name) == at:
            unique[at] = items[at]
    ours = sorted((at for at in unique if names[at] in wanted), key=lambda at: wanted.index(names[at]))
    others = sorted(
        (at for at in unique if names[at] not in wanted),
        key=lambda at: known.index(names[at]) if names[at] in known else -1,
    )
    order: list[Json] = []
    for at in ours:
        while others and _stands_before(names[others[0]], names[at], known):
            order.append(unique[others.pop(0)])
        order.append(unique[at])
    return order + [unique[at] for at in others]


def _stands_before(one: object, other: object, known: Sequence[Json]) -> bool:
    return one in known and other in known and known.index(one) < known.index(other)


def _names(items: Sequence[Json], key: str) -> list[Json]:
    """What tells elements apart; a text and a number never look alike, nor a number and a truth."""
    return [(type(name), name) for name in (_key_of(each, key) if key else each for each in items)]


def refuse_other_order(patch: list[Json], asked: list[Json], key: str) -> None:
    """The patch must name its elements in the order it asks for, and no other elements."""
    if not patch or not asked:
        return
    elements = patch
    if key:
        if any(not isinstance(each, dict) for each in patch):
            raise server_error("expected a map[string]interface {}, but received a string")
        elements = [each for each in patch if DIRECTIVE not in each]
    names = iter(_names(asked, key))
    if not all(name in names for name in _names(elements, key)):
        raise server_error(
            f"The order in patch list:\n{go_text(patch)}\n doesn't match $setElementOrder list:\n{go_text(asked)}\n"
        )


def element_type(*several: list[Json]) -> type:
    """The one type of all elements. Raises `Refused`."""
    found: list[type] = [type(each) for one in several for each in one]
    if not found:
        raise server_error("no elements in any of the given slices")
    if found[0] is list:
        raise does_not_apply()
    if any(each is not found[0] for each in found) or found[0] is type(None):
        raise server_error(f"list element types are not identical: {go_text(list(several))}")
    return found[0]


def _key_of(element: object, key: str) -> Json:
    if not isinstance(element, dict):
        raise bad_request("invalid patch format of setElementOrder list")
    held = cast("Object", element)
    if key not in held:
        raise _no_key(held, key)
    return held[key]


def _no_key(element: Object, key: str) -> Refused:
    return server_error(f"map: {go_text(element)} does not contain declared merge key: {key}")
