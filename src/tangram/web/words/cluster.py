"""What the cluster page says."""

from __future__ import annotations

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "cluster.title": ("Cluster", "集群"),
    "cluster.figures": ("At a glance", "概览"),
    "cluster.figure.cards": ("Cards", "GPU 卡"),
    "cluster.figure.free": ("Free", "空闲"),
    "cluster.figure.memory": ("Memory given", "显存分配率"),
    "cluster.figure.compute": ("Compute given", "算力分配率"),
    "cluster.figure.pods": ("Pods on cards", "用卡 Pod"),
    "cluster.figure.waiting": ("Waiting", "等待中"),
    "cluster.figure.unhealthy": ("Unhealthy", "异常"),
    "cluster.figure.fragmented": ("Fragmented", "碎片率"),
    "cluster.sub.nodes": ("on {n} nodes", "位于 {n} 个节点"),
    "cluster.sub.free": ("nobody holds them", "无 Pod 占用"),
    "cluster.sub.pods": ("that you may see", "您可查看的范围"),
    "cluster.sub.waiting": ("for a place", "等待调度"),
    "cluster.sub.cordoned": ("and {n} cordoned", "另有 {n} 张已封锁"),
    "cluster.sub.fragmented": ("of what is idle", "占空闲资源"),
    "cluster.waiting": ("Pods that wait", "等待中的 Pod"),
    "cluster.waiting.none": ("Nobody waits.", "没有等待中的 Pod。"),
    "cluster.waiting.not_tried": ("not tried yet", "尚未尝试调度"),
    "cluster.waiting.all": ("All pods", "查看全部 Pod"),
    "cluster.nodes": ("Nodes", "节点"),
    "cluster.found": ("{found} of {all}", "{found} / {all}"),
    "cluster.search": ("Name", "名称"),
    "cluster.search.hint": ("Search nodes, or press /", "搜索节点，或按 /"),
    "cluster.any": ("any", "不限"),
    "cluster.no_match": ("No node matches.", "没有匹配的节点。"),
    "cluster.none": (
        "There is no node with cards that you may see.",
        "没有您可以查看的 GPU 节点。",
    ),
    "cluster.none_at_all": (
        "No node offers cards yet. The Health page says what the agents lack; docs/install.md says how they come.",
        "尚无节点提供卡。“健康”页面列出所缺的组件，安装方法见 docs/install.md。",
    ),
    "cluster.reading": ("Nodes are still being read …", "正在读取节点……"),
    "cluster.page": ("Page {page} of {pages}", "第 {page} 页，共 {pages} 页"),
    "cluster.wrong.legal": (
        "{field} is “{value}”, which is none of {legal}: it was left out.",
        "{field} 的值“{value}”无效（可用值：{legal}），已忽略。",
    ),
    "cluster.wrong.number": (
        "{field} is “{value}”, where a number from 1 on is meant: page 1 is shown.",
        "{field} 的值“{value}”不是正整数，已显示第 1 页。",
    ),
    "cluster.wrong.long": (
        "{field} begins with “{value}” and is longer than any name: it was left out.",
        "{field} 以“{value}”开头，超出名称长度上限，已忽略。",
    ),
    "cluster.legend": ("How to read a card", "图例"),
    "cluster.legend.free_of_all": ("free cards, of all cards of the node", "空闲卡数 / 该节点总卡数"),
    "cluster.legend.memory": ("height: memory given", "高度：已分配显存"),
    "cluster.legend.compute": ("inner bar: compute given", "内条：已分配算力"),
    "cluster.legend.free": ("free", "空闲"),
    "cluster.legend.whole": ("whole", "整卡"),
    "cluster.legend.sliced": ("sliced", "切片"),
    "cluster.legend.virtual": ("virtual", "虚拟化"),
    "cluster.legend.shared": ("shared", "共享"),
    "cluster.legend.undecided": ("undecided", "未定"),
    "cluster.legend.cordoned": ("cordoned", "已封锁"),
    "cluster.legend.unhealthy": ("unhealthy", "异常"),
    "cluster.keys": ("Keys", "快捷键"),
    "cluster.keys.move": ("move between nodes", "在节点间移动"),
    "cluster.keys.open": ("open the node", "打开节点"),
    "cluster.keys.search": ("search", "搜索"),
    "cluster.keys.ends": ("first and last node", "第一个和最后一个节点"),
    "cluster.keys.help": ("show these keys", "显示快捷键"),
    "cluster.by.totals": ("The figures above", "以上数字"),
    "cluster.by.waiting": ("Your pods that wait, and why", "您正在等待的 Pod 及其原因"),
    "cluster.by.one": ("Why one pod waits, node by node", "某个 Pod 为何等待（逐节点）"),
    "cluster.by.node": ("One node, card by card", "单个节点的每张卡"),
    "cluster.by.mine": ("Your pods", "您的 Pod"),
    "cluster.label.free": ("{n} free", "{n} 张空闲"),
    "cluster.label.unhealthy": ("{n} unhealthy", "{n} 张异常"),
    "cluster.label.cordoned": ("{n} cordoned", "{n} 张已封锁"),
    "cluster.label.cards": ("{n} {product}", "{n} 张 {product}"),
    "cluster.label.some_card": ("cards", "卡"),
    "cluster.label.comma": (", ", "，"),
    "cluster.shown_now": ("{n} nodes shown", "显示 {n} 个节点"),
}

COUNTED: Final[CountedWords] = {
    "cluster.reason.pods": ("{n:,} pod", "{n:,} pods", "{n:,} 个 Pod"),
    "cluster.reason.more": ("and {n:,} more", "and {n:,} more", "另有 {n:,} 个"),
    "cluster.more_reasons": (
        "{n:,} other reason",
        "{n:,} other reasons",
        "还有 {n:,} 种其他原因",
    ),
    "cluster.untold": (
        "{n:,} more waits without being told of one by one.",
        "{n:,} more wait without being told of one by one.",
        "另有 {n:,} 个等待中的 Pod 未逐一列出。",
    ),
}
