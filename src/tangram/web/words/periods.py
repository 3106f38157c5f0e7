"""Periods, and what is wrong with one that cannot be read."""

from __future__ import annotations

from typing import Final

from tangram.web.language import Words

WORDS: Final[Words] = {
    "periods.24h": ("24 hours", "24 小时"),
    "periods.7d": ("7 days", "7 天"),
    "periods.31d": ("31 days", "31 天"),
    "periods.label": ("Period", "时间范围"),
    "periods.from": ("First day (UTC)", "起始日（UTC）"),
    "periods.to": ("Last day (UTC)", "截止日（UTC）"),
    "periods.show": ("Show", "查看"),
    "periods.unknown": (
        "The period is “{read}”, and it can be {legal}: choose one of these, or name a first and a last day.",
        "时间范围为“{read}”，可选值为 {legal}：请选择其一，或指定起始日和截止日。",
    ),
    "periods.no_day": (
        "“{field}” is “{read}”, which is no day: write it as year-month-day, such as 2026-11-17.",
        "“{field}”的值“{read}”不是有效日期：请按 年-月-日 填写，例如 2026-11-17。",
    ),
    "periods.backwards": (
        "The first day {first} is after the last day {last}: exchange them.",
        "起始日 {first} 晚于截止日 {last}：请对调两者。",
    ),
    "periods.long": (
        "From {first} to {last} is longer than {most} days, and no more are kept: choose fewer days.",
        "从 {first} 到 {last} 超过 {most} 天，而记录最多保留这么久：请缩短范围。",
    ),
}
