"""The health of cards, nodes and everything around them."""

from __future__ import annotations

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "health.title": ("Health", "健康"),
    "health.lead": (
        "What keeps cards from being given to pods, and what the doctor says of the cluster.",
        "影响卡分配的问题，以及集群诊断结果。",
    ),
    "health.no_rights": (
        "This page takes the right to list nodes: ask an administrator for a role with “list nodes”.",
        "查看本页需要 list nodes 权限，请向管理员申请。",
    ),
    "health.findings_rights": (
        "The doctor’s findings name pods of all namespaces: they take the right to list all of them.",
        "诊断结果会涉及所有命名空间的 Pod，需要查看全部 Pod 的权限。",
    ),
    "health.unhealthy": ("Unhealthy cards", "异常卡"),
    "health.cordoned": ("Cordoned cards", "已封锁的卡"),
    "health.not_ready": ("Nodes not ready", "未就绪节点"),
    "health.held_back": ("Cordoned nodes", "已封锁节点"),
    "health.to_mend": ("To be mended", "需修复"),
    "health.to_look_at": ("To be looked at", "需关注"),
    "health.of": ("of {n}", "共 {n}"),
    "health.doctor": ("The doctor’s findings", "诊断结果"),
    "health.doctor_at": ("asked {ago}", "{ago}检查"),
    "health.doctor_unknown": ("The doctor could not look: {why}", "无法诊断：{why}"),
    "health.all_well": ("The doctor has nothing to object to.", "诊断未发现问题。"),
    "health.fine": ("What is in order ({n})", "正常项（{n}）"),
    "health.skipped": ("not looked at", "未检查"),
    "health.outcome.ok": ("in order", "正常"),
    "health.outcome.warn": ("look at it", "需关注"),
    "health.outcome.fail": ("mend it", "需修复"),
    "health.outcome.skip": ("not looked at", "未检查"),
    "health.result": ("Result", "结果"),
    "health.check": ("Check", "检查项"),
    "health.why": ("What was found", "发现"),
    "health.todo": ("What to do", "处理办法"),
    "health.reason": ("Reason", "原因"),
    "health.since": ("Since", "开始时间"),
    "health.since_before": ("before {when}", "早于 {when}"),
    "health.pods": ("Pods on it", "其上的 Pod"),
    "health.nobody": ("nobody", "无"),
    "health.no_reason": ("none given", "未说明"),
    "health.no_unhealthy": ("Every card is healthy.", "所有卡均正常。"),
    "health.out_of_service": ("Held back and not ready", "已封锁与未就绪"),
    "health.nothing_held_back": (
        "No card or node is cordoned, and every node is ready.",
        "没有被封锁的卡或节点，所有节点均就绪。",
    ),
    "health.what": ("What", "对象"),
    "health.command": ("Give it back, or look closer", "恢复或排查命令"),
    "health.whole_node": ("the whole node", "整个节点"),
    "health.cut": ("Only the first {n} are shown.", "仅显示前 {n} 条。"),
    "health.unread": ("Nodes that could not be read in full", "未能完整读取的节点"),
    "health.command_look": ("Look closer", "排查命令"),
    "health.moments": ("What happened lately", "最近事件"),
    "health.no_moments": (
        "Nothing has happened to cards and nodes since the dashboard began to look, {when}.",
        "自仪表盘 {when} 开始记录以来，卡和节点没有发生变化。",
    ),
    "health.when": ("When", "时间"),
    "health.happened": ("What happened", "事件"),
    "health.kind.unhealthy": ("became unhealthy", "变为异常"),
    "health.kind.healthy": ("is healthy again", "恢复正常"),
    "health.kind.cordoned": ("was cordoned", "被封锁"),
    "health.kind.uncordoned": ("was given back", "解除封锁"),
    "health.kind.node-added": ("joined", "加入集群"),
    "health.kind.node-removed": ("left", "离开集群"),
    "health.kind.node-state": ("is now", "状态变为"),
    "health.card": ("card {n}", "卡 {n}"),
    "health.by_status": ("Cards and nodes as they are", "卡和节点的当前状态"),
    "health.by_doctor": ("The same findings", "同样的诊断结果"),
    "health.by_node": ("One node, card by card", "单个节点逐卡查看"),
}

COUNTED: Final[CountedWords] = {
    "health.others": (
        "{n} of another namespace",
        "{n} of other namespaces",
        "其他命名空间 {n} 个",
    ),
}
