"""Lines come out whole or not at all, however the bytes were cut, and what is no event ends the watch."""

from collections.abc import AsyncGenerator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.virtual_time import in_virtual_time
from tangram.kube import watching
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.watching import event_in, whole_lines


async def _pieces(pieces: Iterable[bytes]) -> AsyncGenerator[bytes]:
    for piece in pieces:
        yield piece


async def _read(pieces: Iterable[bytes]) -> list[bytes]:
    return [line async for line in whole_lines(_pieces(pieces))]


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b""))), st.data())
def test_however_it_is_cut_the_same_lines_come_out(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert in_virtual_time(_read(pieces)) == [line for line in lines if line]


async def test_half_a_line_at_the_end_is_a_loss() -> None:
    lines = whole_lines(_pieces([b"one\ntw"]))
    assert await anext(lines) == b"one"
    with pytest.raises(ApiUnreachable, match="in the middle of an event"):
        await anext(lines)


async def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LONGEST_LINE", 100)
    with pytest.raises(ApiUnreachable, match="more than 100 bytes"):
        await _read([b"x" * 10] * 11)


@given(st.binary() | st.text().map(str.encode))
def test_no_line_does_more_than_end_the_watch(line: bytes) -> None:
    try:
        event_in(line)
    except (ApiUnreachable, ApiError):
        return


@pytest.mark.parametrize(
    ("status", "code", "asked"),
    [
        pytest.param('{"code":410,"reason":"Expired","message":"too old"}', 410, None, id="expired"),
        pytest.param('{"code":429,"details":{"retryAfterSeconds":7}}', 429, 7.0, id="with-patience"),
        pytest.param('{"code":"410"}', 500, None, id="a-code-that-is-a-text"),
        pytest.param('{"code":200}', 500, None, id="a-code-that-is-no-error"),
        pytest.param('{"code":429,"details":{"retryAfterSeconds":"soon"}}', 429, None, id="soon"),
        pytest.param('{"code":429,"details":[]}', 429, None, id="details-of-no-shape"),
        pytest.param("{}", 500, None, id="nothing"),
    ],
)
def test_an_error_event_is_a_refusal_whatever_it_says(status: str, code: int, asked: float | None) -> None:
    with pytest.raises(ApiError) as caught:
        event_in(f'{{"type":"ERROR","object":{status}}}'.encode())
    assert (caught.value.status, caught.value.retry_after) == (code, asked)
