"""How a refusal is worded: what was read, what is legal, what to do instead, in that order and with a full stop.

Where a peer has a text of its own for the same fault it comes first, unchanged, so that people who search for it,
and tools that match on it, find it.
"""

from collections.abc import Iterable

from tangram.model.pods import Container
from tangram.units.refusal import quoted


def sentence(read: str, legal: str, instead: str, *, peer: str = "") -> str:
    """One sentence out of its three parts, after the peer's own text if it has one."""
    lead = f"{peer}: " if peer else ""
    return f"{lead}{read}; {legal}; {instead}."


def asked(container: Container, *resources: str) -> str:
    """What a container's manifest says about some resources, as the start of a sentence."""
    return f"container {container.name} asks for {written(container, resources)}"


def written(container: Container, resources: Iterable[str]) -> str:
    """Those of the resources that the container names, each with the text it gives."""
    texts = {**container.requests, **container.limits}
    return " and ".join(f"{name} {quoted(texts[name])}" for name in resources if name in texts)


def annotated(key: str, text: str) -> str:
    """What a pod's annotation says."""
    return f"annotation {key} is {quoted(text)}"


def either(words: Iterable[object]) -> str:
    """The words as a choice: "a, b or c"."""
    *most, last = [str(word) for word in words]
    return f"{', '.join(most)} or {last}" if most else last
