"""What every chart says."""

from __future__ import annotations

from typing import Final

from tangram.web.language import Words

WORDS: Final[Words] = {
    "charts.as_table": ("The same as a table", "以表格查看"),
    "charts.time": ("Time (UTC)", "时间（UTC）"),
}
