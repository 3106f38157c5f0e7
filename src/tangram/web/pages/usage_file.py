"""Who used how much, as a file: one row for each hour and namespace, with the same figures as the page.

Spreadsheets take a cell that begins with a sign of theirs for a formula. No namespace can begin with one, but what is
read from a file might claim to be a namespace, so such a cell gets an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from tangram.web.catalogue import said
from tangram.web.history.keeping import Used
from tangram.web.known import Known
from tangram.web.page import Asked, Shown
from tangram.web.periods import NoPeriod, read_period
from tangram.web.usage_table import uses_of

PATH: Final = "/usage.csv"
COLUMNS: Final = (
    "hour_utc",
    "namespace",
    "card_hours",
    "memory_gib_hours",
    "compute_card_hours",
    "pods",
)
_SIGNS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


async def page(asked: Asked, known: Known) -> Shown:
    """The file of one period."""
    try:
        period = read_period(asked.query, asked.now)
    except NoPeriod as refused:
        sentence = said(asked.viewer.language, refused.key, **refused.values)
        return Shown(status=400, kind="text/plain; charset=utf-8", body=f"{sentence}\n".encode())
    return Shown(
        kind="text/csv; charset=utf-8; header=present",
        file_name=f"usage-{period.first_day}-{period.last_day}.csv",
        body=text_of(uses_of(known.history, asked.viewer.sight, period)).encode(),
    )


def text_of(uses: Iterable[Used]) -> str:
    """As RFC 4180 has it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for each in uses:
        writer.writerow(
            (
                datetime.fromtimestamp(each.hour, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                harmless(each.namespace),
                f"{each.card_hours:.6f}",
                f"{each.memory_gib_hours:.6f}",
                f"{each.compute_card_hours:.6f}",
                each.pods,
            )
        )
    return text.getvalue()


def harmless(cell: str) -> str:
    """No formula in any spreadsheet."""
    return f"'{cell}" if cell.startswith(_SIGNS) else cell
