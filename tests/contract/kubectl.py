"""kubectl's own verbs, driven the same way against two API servers, and what they printed made comparable.

A session is a list of steps in a namespace of its own. A step runs one kubectl command (or a few lines of shell around
it, where two commands meet); its exit status and everything it prints count.
"""

from __future__ import annotations

import json
import re
import secrets
import string
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Object = dict[str, Any]
Said = tuple[int, str, str]
Run = Callable[[Sequence[str], str, Mapping[str, str]], Awaitable[Said]]
"""Runs a program of this machine where it reaches the API server: arguments, standard input, extra variables."""


@dataclass(frozen=True, slots=True)
class Step:
    """`{ns}` in a word stands for the session's namespace, `{tag}` for what only this session's names carry."""

    words: tuple[str, ...]
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    keep: str = ""
    """Only lines that match are compared: where the rest is nobody's promise."""
    ordered: bool = True
    """Whether the order of the lines is part of what is compared."""
    scripted: bool = False
    """The one word is a script, in which $KUBECTL is the program."""

    @property
    def line(self) -> str:
        return " ".join(self.words)


def do(line: str, *manifests: Object, keep: str = "", ordered: bool = True, **env: str) -> Step:
    """A command line as one would type it after `kubectl`, objects going to its standard input."""
    return Step(_split(line), "\n".join(json.dumps(each) for each in manifests), env, keep, ordered)


def script(text: str, *, keep: str = "", ordered: bool = True) -> Step:
    return Step((text,), keep=keep, ordered=ordered, scripted=True)


def _split(line: str) -> tuple[str, ...]:
    """Words at spaces, except inside single quotes."""
    return tuple(word.replace("'", "") for word in re.findall(r"(?:[^\s']|'[^']*')+", line))


@dataclass(frozen=True, slots=True)
class Session:
    name: str
    steps: tuple[Step, ...]
    usual: bool = False
    """What people do every day: driven in every run of the tests, the others end to end only."""

    @property
    def sentence(self) -> str:
        return self.name.replace("_", " ")


async def play(session: Session, kubectl: str, run: Run) -> list[Object]:
    """What each step said, normalised."""
    tag = "k" + "".join(secrets.choice(string.ascii_lowercase) for _ in range(7))
    space = f"ns-{tag}"
    await _must(run, kubectl, "create", "namespace", space)
    # Without it pods are refused, and controllers make it in their own time.
    await run([kubectl, "-n", space, "create", "serviceaccount", "default"], "", {})
    heard: list[Object] = []
    for step in session.steps:
        words = [word.replace("{ns}", space).replace("{tag}", tag) for word in step.words]
        stdin = step.stdin.replace("{ns}", space).replace("{tag}", tag)
        if step.scripted:
            said = await run(["sh", "-c", words[0]], stdin, {**step.env, "KUBECTL": f"{kubectl} -n {space}"})
        else:
            said = await run([kubectl, "-n", space, *words], stdin, step.env)
        heard.append(_heard(step, said, space, tag))
    await run([kubectl, "delete", "namespace", space, "--wait=false"], "", {})
    return heard


async def _must(run: Run, *words: str) -> None:
    status, _output, errors = await run(words, "", {})
    if status:
        raise AssertionError(f"{' '.join(words[1:])}: {errors}")


_PATTERNS: Final[Sequence[tuple[str, str]]] = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [-+]\d{4}", "DATE"),
    (r"https://[\w.]+:\d+|https://\d+\.\d+\.\d+\.\d+", "https://SERVER"),
    (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"\b(resourceVersion: )\"\d+\"", r'\1"VERSION"'),
    (r"(\"resourceVersion\": ?)\"\d+\"", r'\1"VERSION"'),
    (r"kube-api-access-[a-z0-9]{5}\b", "kube-api-access-XXXXX"),
    (r"\b(web)-[0-9a-z]{6,10}-[a-z0-9]{5}\b", r"\1-HASH-XXXXX"),
    (r"\b(web)-[0-9a-z]{6,10}\b", r"\1-HASH"),
    (r"(pod-template-hash[:=] ?)[0-9a-z]{6,10}\b", r"\1HASH"),
    (r"(Resource Version: +)\d+", r"\1VERSION"),
    (r"/\w+/(LIVE|MERGED)-\d+", r"\1"),
    (r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", "TOKEN"),
    (r"(?<![\w.-])(?:\d+[ydhms]){1,2}(?= ago|\)|\s|$)", "AGE"),
    (r"<unknown>(?= ago)", "AGE"),
)


def _heard(step: Step, said: Said, space: str, tag: str) -> Object:
    status, output, errors = said
    return {
        "status": status,
        "output": _lines(step, output, space, tag),
        "errors": _lines(step, errors, space, tag),
    }


def _lines(step: Step, text: str, space: str, tag: str) -> list[str]:
    text = text.replace(space, "NAMESPACE").replace(tag, "TAG")
    lines = [re.sub(r" {2,}", "  ", line).rstrip() for line in text.splitlines()]
    for pattern, word in _PATTERNS:
        lines = [re.sub(pattern, word, line) for line in lines]
    # Widths follow the longest name, and so does the line under a heading.
    lines = [re.sub(r"-{3,}", "---", re.sub(r" {2,}", "  ", line)) for line in lines]
    if step.keep:
        lines = [line for line in lines if re.search(step.keep, line)]
    return lines if step.ordered else sorted(lines)
