"""Fragmentation: idle capacity that is of no use, and what that means."""

from __future__ import annotations

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "fragmentation.title": ("Fragmentation", "碎片"),
    "fragmentation.lead": (
        "Idle capacity that is of no use to the pods that use such cards: in pieces too small, or too few on one node.",
        "空闲却因零散而无法分给此类卡的典型 Pod 的容量：单块过小，或同一节点上数量不足。",
    ),
    "fragmentation.no_rights": (
        "This page takes the right to list nodes: ask an administrator for a role with “list nodes”.",
        "查看本页需要 list nodes 权限，请向管理员申请。",
    ),
    "fragmentation.now": ("Now", "当前"),
    "fragmentation.share": ("Fragmented share", "碎片占比"),
    "fragmentation.share_note": ("of what is idle", "占空闲容量"),
    "fragmentation.idle": ("Idle", "空闲"),
    "fragmentation.lost": ("Idle, of no use", "空闲但不可用"),
    "fragmentation.usable": ("Idle, usable", "空闲可用"),
    "fragmentation.taken": ("Taken, or out of service", "已占用或停用"),
    "fragmentation.worth": ("cards’ worth", "张卡当量"),
    "fragmentation.kinds": ("Kinds of pods expected", "预期规格种类"),
    "fragmentation.kinds_note": ("those that run and wait now", "取自正在运行与等待的 Pod"),
    "fragmentation.meaning": (
        (
            "Each kind of pod is measured only against cards that it could use if nothing ran on their node: the right "
            "vendor and model, offered whole or sliced as it asks, large enough, and enough of them. Among the pods "
            "that could use a card, the share that cannot have it now is the fragmented share of what is idle on it."
        ),
        (
            "每种规格的 Pod 只对照节点空载时它可以使用的卡：厂商和型号相符，按其申请以整卡或切片方式提供，容量足够，"
            "且同一节点上数量足够。在可以使用某张卡的 Pod 中，当前无法使用它的比例，就是该卡空闲容量的碎片占比。"
        ),
    ),
    "fragmentation.example": (
        (
            "Example: two cards with half of each free are one card’s worth idle. Pods that ask for a quarter of a "
            "card can use all of it, pods that ask for three quarters none. If one pod in four asks for three "
            "quarters, 25% of what is idle is fragmented. Four free cards of another vendor beside them are not "
            "fragmented: then it is 5%."
        ),
        (
            "示例：两张卡各空闲一半，合计 1 张卡当量。申请四分之一张卡的 Pod 可以使用全部空闲，申请四分之三张卡的 Pod "
            "则完全无法使用。若每四个 Pod 中有一个申请四分之三，则空闲容量的 25% 为碎片。"
            "旁边再有四张其他厂商的空闲卡时，它们不是碎片，占比变为 5%。"
        ),
    ),
    "fragmentation.without_demand": (
        (
            "{cards} cards’ worth are idle on cards that none of the pods that run and wait could use even if nothing "
            "ran. They count as idle, not as fragmented."
        ),
        "其中 {cards} 张卡当量所在的卡，即使节点空载，正在运行与等待的 Pod 也都无法使用：计为空闲，不计为碎片。",
    ),
    "fragmentation.no_demand": ("no demand", "无需求"),
    "fragmentation.not_known": (
        "No pod with cards runs or waits yet, so it is not known which pods to expect, nor what is of no use to them.",
        "尚无使用卡的 Pod 在运行或等待，无从得知典型规格，因此无法判断哪些容量不可用。",
    ),
    "fragmentation.not_told": (
        "The scheduler has not told yet how much is idle.",
        "调度器尚未给出空闲容量。",
    ),
    "fragmentation.over_time": ("Over time", "变化趋势"),
    "fragmentation.no_points": (
        "Nothing has been recorded in this period yet; the first point appears within a minute.",
        "此期间尚无记录；首个数据点将在一分钟内出现。",
    ),
    "fragmentation.share_over_time": ("Fragmented share of what is idle", "碎片占空闲容量的比例"),
    "fragmentation.share_told": (
        "Between {least} and {most}, at last {last}.",
        "介于 {least} 与 {most} 之间，最近为 {last}。",
    ),
    "fragmentation.cards_over_time": ("Where the cards go (cards’ worth)", "卡的去向（张卡当量）"),
    "fragmentation.cards_told": (
        "At last {taken} taken or out of service, {usable} idle and usable, {lost} idle and of no use.",
        "最近：已占用或停用 {taken}，空闲可用 {usable}，空闲但不可用 {lost}。",
    ),
    "fragmentation.by_model": ("By model", "按型号"),
    "fragmentation.free": ("Free cards", "空闲卡"),
    "fragmentation.remainders": ("In remainders", "零头"),
    "fragmentation.remainders_note": (
        "Remainders are what is idle on cards that are held in part: a whole-card job cannot have them.",
        "零头指已被部分占用的卡上剩余的空闲：整卡任务无法使用。",
    ),
    "fragmentation.of_no_use": ("Of no use", "不可用"),
    "fragmentation.model_unknown": ("unknown", "未知"),
    "fragmentation.typical": ("What is typical", "典型规格"),
    "fragmentation.typical_lead": (
        "Learned from the pods that run and wait now; those that make up most of them:",
        "由当前运行和等待的 Pod 得出，以下为其中的主要规格：",
    ),
    "fragmentation.kind_whole": ("{cards} × whole card", "{cards} × 整卡"),
    "fragmentation.kind_slice": ("{cards} × {memory}, {cores} compute", "{cards} × {memory}，算力 {cores}"),
    "fragmentation.kind_memory": (
        "{cards} × {memory}, no compute reserved",
        "{cards} × {memory}，不预留算力",
    ),
    "fragmentation.kind": ("Asks for", "申请规格"),
    "fragmentation.of_pods": ("Of all pods", "占全部 Pod"),
    "fragmentation.share_of_pods": ("{share} of all pods", "占全部 Pod 的 {share}"),
    "fragmentation.nothing_typical": (
        "No pod holds or waits for cards.",
        "没有持有或等待卡的 Pod。",
    ),
    "fragmentation.typical_rights": (
        "What is typical is learned from everybody’s pods: that takes the right to list pods of all namespaces.",
        "典型规格和策略对比基于所有 Pod，需要查看全部命名空间 Pod 的权限（list pods）。",
    ),
    "fragmentation.replay": ("What the policy “{policy}” would have saved", "“{policy}”策略能省下多少"),
    "fragmentation.replay_saved": ("What the policy “{policy}” saves", "“{policy}”策略省下了多少"),
    "fragmentation.replay_how": (
        "The pods of now are placed anew on the same cards, empty, in the order in which they came.",
        "把当前的 Pod 按到达顺序重新放到同样的空卡上。",
    ),
    "fragmentation.replay_then": (
        "Then further typical pods come, as many as ask for all that is left, in three orders of arrival.",
        "随后放入典型 Pod，其申请总量等于剩余容量，取三种到达顺序的平均值。",
    ),
    "fragmentation.replay_without": (
        "Links between cards, hosts’ processors and wishes of single pods are not looked at.",
        "不考虑卡间互联、主机 CPU 和单个 Pod 的偏好。",
    ),
    "fragmentation.replay_working": (
        "Being worked out … The result appears here by itself.",
        "正在计算……结果会自动显示在这里。",
    ),
    "fragmentation.replay_failed": (
        "It could not be worked out: {why}. It is tried again when somebody looks in ten minutes.",
        "计算失败：{why}。十分钟后再次查看时会重试。",
    ),
    "fragmentation.replay_at": (
        "Worked out {ago}, in {seconds} s; again after ten minutes.",
        "{ago}计算，用时 {seconds} 秒；十分钟后更新。",
    ),
    "fragmentation.replay_again": ("Being worked out again …", "正在重新计算……"),
    "fragmentation.replay_part": (
        "For a part of the cluster: {nodes} of {of} nodes, always the same ones.",
        "仅取集群的一部分：{of} 个节点中的 {nodes} 个，每次相同。",
    ),
    "fragmentation.more": (
        "Under “{policy}” {more} more of {tried} further typical pods would find room.",
        "采用“{policy}”时，{tried} 个后续典型 Pod 中可多放下 {more} 个。",
    ),
    "fragmentation.more_cards": (
        "Under “{policy}” further typical pods could use {cards} more cards’ worth.",
        "采用“{policy}”时，后续典型 Pod 可多使用 {cards} 张卡的容量。",
    ),
    "fragmentation.same": (
        "With these pods both policies come to the same.",
        "对当前这些 Pod 而言，两种策略结果相同。",
    ),
    "fragmentation.less": (
        "With these pods “{policy}” would not do better than the policy in force.",
        "对当前这些 Pod 而言，“{policy}”并不优于现行策略。",
    ),
    "fragmentation.row": ("Under the policy", "策略"),
    "fragmentation.in_force": ("{policy} (in force)", "{policy}（现行）"),
    "fragmentation.row_placed": ("Pods placed anew", "重新放下的 Pod"),
    "fragmentation.row_share": ("Fragmented share then", "此时碎片占比"),
    "fragmentation.row_more": ("Further typical pods that fit", "可再放下的典型 Pod"),
    "fragmentation.row_cards": ("Cards’ worth those use", "其占用的卡当量"),
    "fragmentation.of": ("{n} of {of}", "{n} / {of}"),
    "fragmentation.by_now": (
        "Idle and fragmented, as the scheduler counts them",
        "空闲与碎片（调度器的计数）",
    ),
    "fragmentation.by_models": ("Cards, what is held of each and by whom", "每张卡及其占用情况"),
    "fragmentation.by_replay": (
        "What is replayed; pods of your own on nodes of your own go with tangram simulate",
        "重放所用的数据；如需用自己的节点和 Pod 推演，请使用 tangram simulate",
    ),
}

COUNTED: Final[CountedWords] = {}
