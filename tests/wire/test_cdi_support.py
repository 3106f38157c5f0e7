"""Whether CDI can be relied on here: a wrong yes leaves containers waiting, a wrong no only costs safety."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.wire.cdi_support import Passing, cdi_passing

ON, OFF = "[plugins]\n  enable_cdi = true\n", "[plugins]\n  enable_cdi=false\n"


@pytest.mark.parametrize(
    ("kubelet", "runtime", "file", "passing"),
    [
        ("v1.34.1", "containerd://2.1.0", None, "field"),
        ("v1.29.0", "containerd://v2.0.0-rc.1", "", "field"),
        ("v1.28.15", "containerd://2.1.0", None, "annotations"),
        ("1.27.3+k3s1", "cri-o://1.27.1", None, "annotations"),
        ("v1.34.1", "containerd://2.1.0", OFF, "off"),
        ("v1.34.1", "containerd://1.7.27", ON, "field"),
        ("v1.34.1", "containerd://1.7.27", None, "off"),
        ("v1.34.1", "containerd://1.7.27", "# enable_cdi = true", "off"),
        ("v1.34.1", "containerd://1.6.9", ON, "off"),
        ("v1.34.1", "cri-o://1.22.0", ON, "off"),
        ("v1.34.1", "docker://27.1", ON, "off"),
        ("v1.34.1", "", ON, "off"),
        ("nonsense", "containerd://2.1.0", None, "annotations"),
        ("", "", None, "off"),
    ],
)
def test_versions_and_the_runtimes_file_decide(
    kubelet: str, runtime: str, file: str | None, passing: Passing
) -> None:
    assert cdi_passing(kubelet, runtime, file) == passing


@given(st.text(max_size=40), st.text(max_size=40), st.none() | st.text(max_size=80))
def test_no_text_is_more_than_an_answer(kubelet: str, runtime: str, file: str | None) -> None:
    assert cdi_passing(kubelet, runtime, file) in ("field", "annotations", "off")


@given(st.text(max_size=80))
def test_a_file_that_says_no_is_always_believed(rest: str) -> None:
    assert cdi_passing("v1.34.1", "containerd://2.1.0", f"{rest}\nenable_cdi = false\n") == "off"
