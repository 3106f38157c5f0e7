"""containerd's file gets our tables and keeps every other byte; what was added can be taken out again."""

import tomllib
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.wire.errors import WireError
from tangram.wire.runtime_config.containerd import BEGIN, END, Manner, with_metax, without_metax
from tangram.wire.runtime_config.containerd_reading import handler_of, knows, version_of
from tangram.wire.runtime_config.wishes import Wish

PROGRAM = "/var/lib/metax/tools/usr/bin/mx-container-runtime"
BESIDE, DEFAULT = Wish(program=PROGRAM), Wish(program=PROGRAM, default=True)
V2 = 'plugins."io.containerd.grpc.v1.cri".containerd'
V3 = 'plugins."io.containerd.cri.v1.runtime".containerd'

KUBEADM = f"""# managed by hand; do not touch
version = 2

  root="/var/lib/containerd"   # odd   spacing
[plugins]
  [plugins.'io.containerd.grpc.v1.cri']
    enable_cdi = true
    sandbox_image = '''registry.example/pause:3.9'''
    [{V2}]
      default_runtime_name   =   'runc'\t# the usual one
      [{V2}.runtimes.runc]
        runtime_type = "io.containerd.runc.v2"
        pod_annotations = [ "io.example/*",   # trailing
        ]
        [{V2}.runtimes.runc.options]
          SystemdCgroup = true
          BinaryName = "/usr/local/sbin/runc"
"""
DOTTED = f"version = 3\n[{V3.removesuffix('.containerd')}]\ncontainerd.snapshotter = 'overlayfs'\n"
MINIMAL = "version = 3\n"


def members(text: str, plugin: str = "io.containerd.cri.v1.runtime") -> dict[str, Any]:
    return tomllib.loads(text)["plugins"][plugin]["containerd"]


def test_the_runtime_is_the_default_one_with_our_program_in_its_place() -> None:
    text = with_metax(KUBEADM, BESIDE)
    found = members(text, "io.containerd.grpc.v1.cri")
    assert found["default_runtime_name"] == "runc"
    assert found["runtimes"]["metax"] == {
        "runtime_type": "io.containerd.runc.v2",
        "pod_annotations": ["io.example/*", "tangram.dev/*"],
        "options": {"SystemdCgroup": True, "BinaryName": PROGRAM},
    }
    assert text.startswith(KUBEADM)
    assert text.removeprefix(KUBEADM).startswith(f"{BEGIN}\n")
    assert text.endswith(f"{END}\n")


def test_as_the_default_it_changes_one_value_and_remembers_it_in_the_file() -> None:
    text = with_metax(KUBEADM, DEFAULT)
    assert members(text, "io.containerd.grpc.v1.cri")["default_runtime_name"] == "metax"
    changed = [
        (old, new)
        for old, new in zip(KUBEADM.split("\n"), text.split("\n"), strict=False)
        if old != new and old
    ]
    assert changed == [
        (
            "      default_runtime_name   =   'runc'\t# the usual one",
            '      default_runtime_name   =   "metax"\t# the usual one',
        )
    ]
    assert without_metax(text) == KUBEADM


@pytest.mark.parametrize("wish", [BESIDE, DEFAULT], ids=["beside", "default"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KUBEADM, id="comments and odd layout"),
        pytest.param(KUBEADM.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(KUBEADM.rstrip("\n"), id="no newline at the end"),
        pytest.param(KUBEADM.replace("\n", "\r\n").rstrip("\r\n"), id="CRLF without the last"),
        pytest.param(MINIMAL, id="nothing but a version"),
        pytest.param("version = 4", id="version 4"),
        pytest.param(DOTTED, id="dotted keys"),
        pytest.param(
            f"version = 3\n{V3}.runtimes.runc.runtime_type = 'io.containerd.runc.v2'\n", id="all dotted"
        ),
        pytest.param("", id="empty"),
        pytest.param("# only remarks\n\n", id="comments only"),
        pytest.param(f"version = 3\n  [{V3}]", id="a table and nothing in it"),
        pytest.param(
            f'version = 3\nx = """\n{BEGIN}\n[{V3}]\ndefault_runtime_name = "a"\n"""\n',
            id="our marks in a string",
        ),
        pytest.param(
            "version = 3\n[plugins]\nfoo = {a = [1, # x\n 2], b = '}'}\n[[debug]]\n",
            id="inline tables elsewhere",
        ),
    ],
)
def test_adding_and_taking_out_gives_the_same_bytes(text: str, wish: Wish) -> None:
    after = with_metax(text, wish)
    assert after != text
    assert without_metax(after) == text
    assert with_metax(after, wish) == after
    assert without_metax(text) == text


def test_a_block_that_was_edited_is_put_right_and_one_that_was_moved_is_left() -> None:
    text = with_metax(KUBEADM, BESIDE)
    edited = text.replace(f'BinaryName = "{PROGRAM}"', 'BinaryName = "/tmp/other"')
    assert with_metax(edited, BESIDE) == text
    below = f"{text}\n[debug]\nlevel = 'info'\n"
    assert with_metax(below, BESIDE) == below
    assert without_metax(below) == f"{KUBEADM}\n[debug]\nlevel = 'info'\n"


def test_lines_that_somebody_wrote_into_our_block_stay() -> None:
    text = with_metax(MINIMAL, BESIDE).replace(END, f"# mine\n[debug]\nlevel = 'info'\n{END}")
    assert without_metax(text) == f"{MINIMAL}# mine\n[debug]\nlevel = 'info'\n"


def test_a_block_whose_comments_a_formatter_took_is_still_known_as_ours() -> None:
    text = "".join(
        line for line in with_metax(KUBEADM, BESIDE).splitlines(keepends=True) if not line.startswith("# ")
    )
    assert with_metax(text, BESIDE) == text
    assert "metax" not in without_metax(text)


def test_a_file_written_anew_without_comments_does_not_keep_a_default_that_is_gone() -> None:
    text = with_metax(KUBEADM, DEFAULT)
    dumped = "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#"))
    assert with_metax(dumped, DEFAULT) == dumped
    found = members(without_metax(dumped), "io.containerd.grpc.v1.cri")
    assert (found["default_runtime_name"], list(found["runtimes"])) == ("runc", ["runc"])


def test_a_default_that_somebody_chose_since_is_theirs() -> None:
    text = with_metax(KUBEADM, DEFAULT).replace('"metax"', '"kata"', 1)
    assert members(without_metax(text), "io.containerd.grpc.v1.cri")["default_runtime_name"] == "kata"


def test_what_containerd_itself_knows_fills_in_what_the_file_is_silent_about() -> None:
    effective = tomllib.loads(
        f"version = 3\n[{V3}]\ndefault_runtime_name = 'runc'\n[{V3}.runtimes.runc]\nruntime_type = "
        f"'io.containerd.runc.v2'\nsnapshotter = ''\n[{V3}.runtimes.runc.options]\nSystemdCgroup = true\nRoot = ''\n"
    )
    text = with_metax(MINIMAL, BESIDE, Manner(effective=effective))
    assert members(text)["runtimes"]["metax"] == {
        "runtime_type": "io.containerd.runc.v2",
        "pod_annotations": ["tangram.dev/*"],
        "options": {"SystemdCgroup": True, "BinaryName": PROGRAM},
    }
    assert knows(tomllib.loads(text), BESIDE)
    assert not knows(tomllib.loads(text), DEFAULT)
    assert not knows(effective, BESIDE)


def test_beside_a_default_that_is_no_runc_the_runtime_wraps_runc() -> None:
    text = (
        f"version = 3\n[{V3}]\ndefault_runtime_name = 'kata'\n[{V3}.runtimes.kata]\nruntime_type = "
        f"'io.containerd.kata.v2'\n[{V3}.runtimes.runc.options]\nBinaryName = '/opt/runc'\n"
    )
    parsed = tomllib.loads(text)
    assert handler_of(parsed, version_of(parsed, "x", 3), None).program == "/opt/runc"
    assert members(with_metax(text, BESIDE))["default_runtime_name"] == "kata"
    with pytest.raises(WireError, match="kata the default runtime") as caught:
        with_metax(text, DEFAULT)
    assert caught.value.code == "default-not-runc"


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        pytest.param("version = 3\n[plugins", "config-invalid", "is no TOML", id="broken"),
        pytest.param("root = '/x'\n", "config-version", "containerd config migrate", id="no version"),
        pytest.param("version = 1\n", "config-version", "version 1;", id="version 1"),
        pytest.param("version = '3'\n", "config-version", "version '3'", id="a version in quotes"),
        pytest.param("version = 9\n", "config-version", "version 9", id="a version from the future"),
        pytest.param("version = 3\nplugins = {}\n", "config-layout", "line 2", id="plugins inline"),
        pytest.param(
            f"version = 3\n[{V3}]\nruntimes = {{ runc = {{}} }}\n",
            "config-layout",
            "line 3",
            id="runtimes inline",
        ),
        pytest.param(
            f"version = 3\n[{V3}]\nruntimes = 3\n", "config-layout", "line 3", id="runtimes a number"
        ),
        pytest.param(f"version = 3\n[[{V3}]]\n", "config-layout", "line 2", id="an array of tables"),
        pytest.param(
            f"version = 3\n\n[{V3}.runtimes.metax]\nruntime_type = 'x'\n",
            "runtime-taken",
            "line 3",
            id="taken",
        ),
    ],
)
def test_what_cannot_be_added_to_is_refused_with_its_line(text: str, code: str, sentence: str) -> None:
    with pytest.raises(WireError, match=sentence) as caught:
        with_metax(text, BESIDE)
    assert caught.value.code == code


def _listed(values: list[str]) -> str:
    return "[ " + ", # c ]\n ".join(values) + " ]"


KEYS = st.sampled_from(["a", "b-c", "'x.y'", '"q\\"="', "plugins", "default_runtime_name", "containerd", "1"])
STRINGS = st.sampled_from(
    ['"a"', "'b#'", '"\\""', "'''\n# >>> x\n'''", '"""a\\\nb""""', '"[x]"', "''", '"""]\n[plugins]\n"""""']
)
VALUES = st.recursive(
    STRINGS | st.sampled_from(["1", "-0x1f", "true", "1979-05-27", "3.5e2", "inf", "[]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(_listed)
        | st.lists(inner.filter(lambda text: "#" not in text), max_size=2).map(
            lambda each: "{" + ", ".join(f"k{number} = {value}" for number, value in enumerate(each)) + "}"
        )
    ),
    max_leaves=4,
)
DOTTED_KEYS = st.lists(KEYS, min_size=1, max_size=3).map(".".join)
BLANKS = st.sampled_from(["", " ", "\t", "  "])
PAIRS = st.builds(
    "{}{} = {}{}\n".format,
    BLANKS,
    DOTTED_KEYS,
    VALUES,
    st.sampled_from(["", " # why", "\t"]),
)
TABLES = st.builds(
    "{}[ {} ] # t\n".format,
    BLANKS,
    DOTTED_KEYS
    | st.sampled_from(
        [
            V3,
            f"{V3}.runtimes.runc",
            f"{V3}.runtimes.runc.options",
            V3.removesuffix(".containerd"),
            f"{V3}.other",
        ]
    ),
)
LINES = st.one_of(PAIRS, TABLES, st.sampled_from(["\n", "# a remark\n", "  # [plugins]\n", "[[x]]\n"]))


def _shaped(lines: list[str], newline: str, *, cut: bool) -> str:
    text = "version = 3\n" + "".join(lines)
    return (text.removesuffix("\n") if cut else text).replace("\n", newline)


TEXTS = st.builds(_shaped, st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), cut=st.booleans())


def _is_legal(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


@given(TEXTS.filter(_is_legal), st.sampled_from([BESIDE, DEFAULT]))
def test_whatever_the_layout_it_is_exactly_ours_that_is_added_and_taken_out(text: str, wish: Wish) -> None:
    before, default = tomllib.loads(text), wish.default
    assert without_metax(text) == text
    try:
        after = with_metax(text, wish)
    except WireError as error:
        reject_others(error)
        return
    assert without_metax(after) == text
    found = tomllib.loads(after)
    added = found["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]
    assert added["runtimes"].pop("metax")["options"]["BinaryName"] == PROGRAM
    if default:
        assert added.pop("default_runtime_name") == "metax"
    assert _pruned(found) == _pruned(_without_default(before) if default else before)


def reject_others(error: WireError) -> None:
    """A layout may be refused; nothing else may go wrong."""
    assert error.code in ("config-layout", "default-not-runc")


def _without_default(parsed: dict[str, Any]) -> dict[str, Any]:
    inner = parsed.get("plugins", {}).get("io.containerd.cri.v1.runtime", {}).get("containerd", {})
    inner.pop("default_runtime_name", None)
    return parsed


def _pruned(parsed: object) -> object:
    """Without tables that are empty: they may be there for our sake alone."""
    if not isinstance(parsed, dict):
        return parsed
    kept = {name: _pruned(value) for name, value in cast("dict[str, object]", parsed).items()}
    return {name: value for name, value in kept.items() if value != {}}
