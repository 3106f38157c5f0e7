"""CRI-O gets a file of its own; Docker's file gets one member, or two, and keeps everything else."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.wire.errors import WireError
from tangram.wire.runtime_config import crio, docker
from tangram.wire.runtime_config.docker import Was
from tangram.wire.runtime_config.wishes import ProgramSettings, Wish, program_settings_text

PROGRAM = "/var/lib/metax/tools/usr/bin/mx-container-runtime"
BESIDE, DEFAULT = Wish(program=PROGRAM), Wish(program=PROGRAM, default=True)
CRUN = (
    "/etc/crio/crio.conf.d/10-crun.conf",
    """[crio.runtime]
default_runtime = 'crun'
[crio.runtime.runtimes.crun]
runtime_path = '/usr/libexec/crio/crun'
runtime_root = '/run/crun'
monitor_path = '/usr/bin/conmon'
allowed_annotations = ['io.x']
""",
)


def test_crios_file_has_the_default_runtime_with_our_program_in_its_place() -> None:
    text = crio.drop_in([CRUN], BESIDE, (1, 34))
    assert tomllib.loads(text) == {
        "crio": {
            "runtime": {
                "runtimes": {
                    "metax": {
                        "runtime_path": PROGRAM,
                        "runtime_type": "oci",
                        "runtime_root": "/run/crun",
                        "monitor_path": "/usr/bin/conmon",
                        "allowed_annotations": ["io.x"],
                    }
                }
            }
        }
    }
    assert (
        tomllib.loads(crio.drop_in([CRUN], DEFAULT, (1, 34)))["crio"]["runtime"]["default_runtime"] == "metax"
    )


@pytest.mark.parametrize(
    ("files", "version", "program"),
    [
        ([CRUN], (1, 34), "/usr/libexec/crio/crun"),
        ([], (1, 34), "crun"),
        ([], (1, 28), "runc"),
        ([], None, "crun"),
        ([("a", "[crio.runtime]\ndefault_runtime = 'youki'\n")], (1, 34), "youki"),
    ],
)
def test_the_program_behind_crio_is_the_default_runtimes(
    files: list[tuple[str, str]], version: tuple[int, int] | None, program: str
) -> None:
    assert crio.handler_of(files, version).program == program


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("/etc/crio/crio.conf.d/10-x.conf", "[crio.runtime.runtimes.metax]\n", "runtime-taken"),
        (
            "/etc/crio/crio.conf.d/99-z.conf",
            "[crio.runtime]\ndefault_runtime = 'runc'\n",
            "default-elsewhere",
        ),
        ("/etc/crio/crio.conf", "[crio", "config-invalid"),
        (
            "/etc/crio/crio.conf",
            "[crio.runtime]\ndefault_runtime = 'kata'\n[crio.runtime.runtimes.kata]\nruntime_type = 'vm'\n",
            "default-not-runc",
        ),
    ],
)
def test_what_stands_in_crios_way_is_named(name: str, text: str, code: str) -> None:
    with pytest.raises(WireError) as caught:
        crio.drop_in([(name, text)], DEFAULT, (1, 34))
    assert caught.value.code == code
    assert name in caught.value.sentence or "CRI-O" in caught.value.sentence


DAEMON = """{
    "log-driver": "json-file",
    "log-opts": {"max-size": "10m"},
    "default-runtime": "nvidia",
    "runtimes": {
        "nvidia": {
            "path": "/usr/bin/nvidia-container-runtime",
            "args": []
        }
    }
}
"""


def test_dockers_file_keeps_order_and_indentation() -> None:
    text, was = docker.with_metax(DAEMON, DEFAULT)
    assert was == Was(default='"nvidia"', runtimes=True)
    assert text == DAEMON.replace('"default-runtime": "nvidia"', '"default-runtime": "metax"').replace(
        '"args": []\n        }\n', f'"args": []\n        }},\n        "metax": {{"path": "{PROGRAM}"}}\n'
    )
    assert docker.without_metax(text, was) == DAEMON
    assert docker.handler_of(DAEMON) == "/usr/bin/nvidia-container-runtime"
    assert docker.handler_of("") == "runc"


@pytest.mark.parametrize("wish", [BESIDE, DEFAULT], ids=["beside", "default"])
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{ }\n",
        "{\n}\n",
        '{"a":1}',
        '{\n\t"a": {"b": "}"},\r\n\t"runtimes": {}\r\n}',
        '{"runtimes": {"x": {"path": "y"}}}',
        DAEMON,
    ],
)
def test_dockers_file_gets_its_bytes_back(text: str, wish: Wish) -> None:
    after, was = docker.with_metax(text, wish)
    assert json.loads(after)["runtimes"]["metax"] == {"path": PROGRAM}
    assert docker.without_metax(after, was) == text
    assert docker.with_metax(after, wish)[0] == after


def test_a_default_of_docker_that_somebody_chose_since_is_theirs() -> None:
    after, was = docker.with_metax('{"a": 1}', DEFAULT)
    edited = after.replace('"default-runtime": "metax"', '"default-runtime": "crun"')
    assert json.loads(docker.without_metax(edited, was)) == {"a": 1, "default-runtime": "crun"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "config-invalid"),
        ("[]", "config-invalid"),
        ('{"runtimes": 3}', "config-layout"),
        ('{"a": 1, "a": 2}', "config-layout"),
        ('{"runtimes": {"metax": {"path": "/elsewhere"}}}', "runtime-taken"),
    ],
)
def test_what_dockers_file_cannot_be_is_refused(text: str, code: str) -> None:
    with pytest.raises(WireError) as caught:
        docker.with_metax(text, BESIDE)
    assert caught.value.code == code


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text('ab"\\{}[],: \n', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text('ab"{', max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from(["a", "b", "{", '"', "default-runtime"]), JSON, max_size=3),
    st.none() | st.dictionaries(st.sampled_from(["runc", "x"]), JSON, max_size=2),
    st.sampled_from([None, 1, "\t"]),
    st.sampled_from([BESIDE, DEFAULT]),
)
def test_whatever_docker_is_told_it_is_exactly_ours_that_is_added_and_taken_out(
    others: dict[str, object], runtimes: dict[str, object] | None, indent: int | str | None, wish: Wish
) -> None:
    before = others if runtimes is None else {**others, "runtimes": runtimes}
    text = json.dumps(before, indent=indent)
    after, was = docker.with_metax(text, wish)
    assert docker.without_metax(after, was) == text
    expected = {**before, "runtimes": {**(runtimes or {}), "metax": {"path": PROGRAM}}}
    assert json.loads(after) == (expected | {"default-runtime": "metax"} if wish.default else expected)


def test_the_programs_settings_are_plain_json() -> None:
    settings = ProgramSettings(runtime="/usr/bin/runc", folders=("/opt/maca", "/opt/mxdriver"))
    assert json.loads(program_settings_text(settings)) == {
        "runtime": "/usr/bin/runc",
        "folders": ["/opt/maca", "/opt/mxdriver"],
    }
