"""Usage by namespace."""

from __future__ import annotations

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "usage.title": ("Usage", "用量"),
    "usage.lead": (
        "What each namespace was given of the cluster’s cards, added up over time.",
        "各命名空间分得的卡资源按时间累计。",
    ),
    "usage.by_namespace": ("By namespace", "按命名空间"),
    "usage.cards_now": ("Cards now", "当前卡数"),
    "usage.pods_now": ("Pods now", "当前 Pod"),
    "usage.card_hours": ("Card-hours", "卡时"),
    "usage.memory_hours": ("GiB-hours", "显存 GiB·时"),
    "usage.compute_hours": ("Compute card-hours", "算力卡时"),
    "usage.share": ("Of the cluster", "占集群"),
    "usage.share_of": ("{share} of the cluster’s card-hours", "占集群卡时的 {share}"),
    "usage.total": ("Together", "合计"),
    "usage.idle": ("Idle", "空闲"),
    "usage.rest": ("the others", "其他"),
    "usage.none": (
        "Nothing was used in this period in the namespaces that you may see.",
        "在此期间，您可查看的命名空间没有用量。",
    ),
    "usage.no_rights": (
        "There is nothing to show without the right to list pods of a namespace: ask an administrator for it.",
        "没有可显示的内容：需要至少一个命名空间的 list pods 权限，请向管理员申请。",
    ),
    "usage.hour": ("Hour (UTC)", "小时（UTC）"),
    "usage.day": ("Day (UTC)", "日期（UTC）"),
    "usage.chart_by_hour": ("Card-hours by hour (UTC)", "每小时卡时（UTC）"),
    "usage.chart_by_day": ("Card-hours by day (UTC)", "每日卡时（UTC）"),
    "usage.chart_told": (
        "{total} card-hours in all, the most {most} from {when} UTC on. The figures are in the table below.",
        "共 {total} 卡时，最多的一段为 {when} UTC 起的 {most} 卡时。详细数字见下方表格。",
    ),
    "usage.download": ("Download as CSV", "下载 CSV"),
    "usage.begun": (
        "Usage has been recorded here from the hour of {when} on; of the time before nothing is known.",
        "用量从 {when} 所在的小时开始记录，此前的用量未知。",
    ),
    "usage.how": ("How use is charged", "计费规则"),
    "usage.how_whole": ("A whole card is one card.", "整卡计为 1 张卡。"),
    "usage.how_part": (
        "A virtual function or a shared place is its part of the card’s places.",
        "虚拟功能（VF）或共享名额按其占该卡名额的比例计。",
    ),
    "usage.how_slice": (
        "A slice is the larger of its shares of memory and compute; one that reserves no compute, that of memory.",
        "切片取显存占比与算力占比中较大者；未预留算力的切片只按显存占比计。",
    ),
    "usage.how_once": (
        "A card is never charged more than once: where its shares add up to more, all are scaled down together.",
        "一张卡绝不会重复计费：各租户份额之和超过一张卡时，按比例一并缩减。",
    ),
    "usage.how_gap": (
        "While the scheduler is silent its last word counts, for an hour at most; the rest is charged to nobody.",
        "收不到调度器数据时，沿用最后一次的状态，最长一小时；超出的时间不计给任何人。",
    ),
    "usage.by_now": (
        "What a namespace holds now; usage is this, added up over time",
        "命名空间当前持有的资源；用量即其随时间的累计",
    ),
    "usage.by_hours": (
        "The hours are recorded by the dashboard alone; the file has them one by one, and its sums are those above",
        "累计值仅由仪表盘记录；CSV 文件逐小时列出，其合计与上表一致",
    ),
}

COUNTED: Final[CountedWords] = {
    "usage.unheard": (
        "For {n:,} minute of this period nobody knew who held what; nothing is charged for it.",
        "For {n:,} minutes of this period nobody knew who held what; nothing is charged for them.",
        "此期间有 {n:,} 分钟无法得知资源由谁持有，这段时间不计费。",
    ),
}
