"""What the page of a node says, its picture among it."""

from __future__ import annotations

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "node.title": ("Node {node}", "节点 {node}"),
    "node.topology": ("Topology", "拓扑"),
    "node.picture_title": ("How the cards of {node} are joined", "节点 {node} 上各卡的互联关系"),
    "node.picture_region": ("Topology picture, scrolls sideways", "拓扑图，可横向滚动"),
    "node.card_line": ("Card {number}, {product}", "卡 {number}，{product}"),
    "node.memory_line": ("memory {amount}", "显存 {amount}"),
    "node.compute_line": ("compute {amount}", "算力 {amount}"),
    "node.numa": ("NUMA node {number}", "NUMA 节点 {number}"),
    "node.numa_unknown": ("NUMA node unknown", "NUMA 节点未知"),
    "node.switch": ("PCIe switch", "PCIe 交换芯片"),
    "node.switches": ("several PCIe switches", "多级 PCIe 交换芯片"),
    "node.bridge": ("PCIe host bridge", "PCIe 主桥"),
    "node.shared_by": ("{what} shared by cards {cards}", "卡 {cards} 共用{what}"),
    "node.stop": (".", "。"),
    "node.joined": ("Cards {a} and {b}: {by}", "卡 {a} 与卡 {b}：{by}"),
    "node.in_numa": ("NUMA node {number} has cards {cards}.", "NUMA 节点 {number}：卡 {cards}。"),
    "node.in_no_numa": (
        "It is not known on which NUMA node cards {cards} sit.",
        "卡 {cards} 所在的 NUMA 节点未知。",
    ),
    "node.links_unknown": (
        "Nothing reports how the cards of this node are joined. A request for linked cards cannot be weighed here.",
        "没有上报该节点各卡的互联方式，因此无法在此评估需要互联的请求。",
    ),
    "node.joints_unknown": ("It is not known how the cards are joined.", "各卡的互联方式未知。"),
    "node.no_links": ("No two cards share a direct link.", "没有任何两张卡直接互联。"),
    "node.mesh": ("{by} joins every pair of cards {cards}.", "卡 {cards} 之间两两通过 {by} 互联。"),
    "node.some_pairs": ("{by} joins the pairs {pairs}.", "{by} 连接以下卡对：{pairs}。"),
    "node.chosen": ("chosen", "选中"),
    "node.runner_up": ("runner-up", "次选"),
    "node.least_loss": ("least loss", "损失最小"),
    "node.no_cards": ("This node announces no card.", "该节点没有上报任何卡。"),
    "node.legend": ("What the picture shows", "图例"),
    "node.legend_free": ("free", "空闲"),
    "node.owners": ("Pods on this node", "该节点上的 Pod"),
    "node.facts": ("Facts", "概况"),
    "node.cpu": ("Host CPU", "主机 CPU"),
    "node.cpu_cores": ("{cores} cores", "{cores} 核"),
    "node.host_memory": ("Host memory", "主机内存"),
    "node.not_known": ("not known", "未知"),
    "node.taints": ("Taints", "污点"),
    "node.none": ("none", "无"),
    "node.labels": ("Labels", "标签"),
    "node.problems": ("Problems in what the node announces", "节点上报信息中的问题"),
    "node.free_of": ("{free} of {all} free", "{all} 张中 {free} 张空闲"),
    "node.of": ("{used} of {all}", "{used} / {all}"),
    "node.cards_heading": ("Cards", "卡"),
    "node.cards_region": ("Cards of this node", "该节点的卡"),
    "node.number": ("No.", "编号"),
    "node.mode": ("Offered", "使用方式"),
    "node.slots": ("Slots", "切片数"),
    "node.numa_column": ("NUMA", "NUMA"),
    "node.holders": ("Held by", "占用者"),
    "node.actions": ("Action", "操作"),
    "node.cordon": ("Cordon", "封锁"),
    "node.uncordon": ("Uncordon", "解除封锁"),
    "node.cordon_card": ("Cordon card {number}", "封锁卡 {number}"),
    "node.uncordon_card": ("Uncordon card {number}", "解除封锁卡 {number}"),
    "node.whole_card": ("whole", "整卡"),
    "node.guessed": ("a guess: nobody wrote down which cards it has", "推测：没有记录它占用哪些卡"),
    "node.weigh": ("show its set", "查看选卡"),
    "node.links_heading": ("Links, pair by pair", "逐对互联"),
    "node.links_region": ("What joins each pair of cards", "每两张卡之间的连接"),
    "node.links_open": ("Show the table of links", "展开互联表"),
    "node.link_words": (
        (
            "MX is a MetaXLink and MT an MTLink, with its lanes where it has more than one. PIX: one PCIe switch; "
            "PXB: several switches; PHB: a host bridge; NODE: within a NUMA node; SYS: between NUMA nodes; NA: unknown."
        ),
        (
            "MX 为 MetaXLink，MT 为 MTLink（多通道时附通道数）。PIX：同一 PCIe 交换芯片；PXB：多级交换芯片；PHB：主桥；"
            "NODE：同一 NUMA 节点；SYS：跨 NUMA 节点；NA：未上报。"
        ),
    ),
    "node.set_heading": ("Cards for {pod}", "为 {pod} 选择的卡"),
    "node.set_column": ("Set", "组合"),
    "node.set_cards": ("Cards", "卡"),
    "node.set_score": ("Score", "得分"),
    "node.set_loss": ("Loss to the rest", "对其余卡的损失"),
    "node.set_region": ("Sets of cards that were weighed", "参与比较的选卡组合"),
    "node.why_score": (
        "Cards {chosen} score {score}; the runner-up {other} scores {other_score}, which is {less} less.",
        "卡 {chosen} 得分 {score}；次选 {other} 得分 {other_score}，低 {less}。",
    ),
    "node.why_loss": (
        (
            "Cards {chosen} and the runner-up {other} both score {score}; the runner-up would cost the remaining cards "
            "{more} more."
        ),
        "卡 {chosen} 与次选 {other} 得分同为 {score}；但次选会使其余卡多损失 {more}。",
    ),
    "node.why_rest": (
        (
            "Cards {chosen} score {score} and the runner-up {other} {other_score}; the runner-up would cost the "
            "remaining cards {more} more, which comes before the score among sets joined alike."
        ),
        (
            "卡 {chosen} 得分 {score}，次选 {other} 得分 {other_score}；但次选会使其余卡多损失 {more}，"
            "互联类型相同时先比较损失。"
        ),
    ),
    "node.why_same": (
        (
            "Cards {chosen} and the runner-up {other} score {score} and cost the rest the same; the policies "
            "of pod and cluster, then the higher numbers decide."
        ),
        "卡 {chosen} 与次选 {other} 得分同为 {score}，对其余卡的损失也相同；由策略及较大的编号决定。",
    ),
    "node.why_policy": (
        (
            "Cards {chosen} score {score} and the runner-up {other} scores {other_score}: another rule of its policy "
            "comes before the links."
        ),
        "卡 {chosen} 得分 {score}，次选 {other} 得分 {other_score}：Pod 策略中的其他规则优先于互联。",
    ),
    "node.why_only": (
        "Cards {chosen} score {score}. There was no other set to compare them with.",
        "卡 {chosen} 得分 {score}，没有其他组合可供比较。",
    ),
    "node.no_sets": (
        (
            "No sets of cards were compared for {pod} on this node: it is not placed here, or asks for nothing "
            "that links could make better."
        ),
        "没有为 {pod} 在该节点上比较选卡组合：它没有被安排到这里，或其请求与互联无关。",
    ),
    "node.all_cards": ("Show the node without this pod", "不显示该 Pod 的选卡"),
    "node.history": ("History", "历史"),
    "node.history_region": ("What happened on this node", "该节点发生的事件"),
    "node.history_none": (
        "Nothing has happened here since the dashboard began to watch.",
        "自仪表盘开始观察以来，该节点没有发生变化。",
    ),
    "node.when": ("When", "时间"),
    "node.what": ("What", "事件"),
    "node.detail": ("Detail", "详情"),
    "node.moment_unhealthy": ("card {card} became unhealthy", "卡 {card} 变为异常"),
    "node.moment_healthy": ("card {card} is healthy again", "卡 {card} 恢复健康"),
    "node.moment_cordoned": ("card {card} was cordoned", "卡 {card} 被封锁"),
    "node.moment_uncordoned": ("card {card} was uncordoned", "卡 {card} 解除封锁"),
    "node.moment_given": ("card {card} was given to", "卡 {card} 分配给"),
    "node.moment_freed": ("card {card} was freed by", "卡 {card} 被释放，原占用者"),
    "node.moment_node-added": ("the node was added", "节点加入"),
    "node.moment_node-removed": ("the node was removed", "节点移除"),
    "node.moment_node-state": ("the state of the node changed", "节点状态变化"),
    "node.commands": ("The commands behind the numbers", "数字对应的命令"),
    "node.by_status": ("State, cards, amounts and holders", "状态、卡、资源量与占用者"),
    "node.by_node": ("Labels, taints and host resources", "标签、污点与主机资源"),
    "node.by_topology": ("Links, on the node itself", "互联方式（在该节点上执行）"),
    "node.by_set": ("The cards chosen for the pod", "为该 Pod 选择的卡"),
    "node.by_events": ("What happened on the node", "节点事件"),
    "node.by_cordon": ("Take a card out of placement; uncordon gives it back", "封锁一张卡（uncordon 解除）"),
    "node.trouble": (
        "The scheduler does not answer, so this is the node as it was last told, without its links: {why}",
        "调度器没有应答，以下为该节点最后一次上报的情况，不含互联信息：{why}",
    ),
    "node.pod_illegible": (
        "pod is {pod}: write NAMESPACE/NAME, as in ?pod=default/train.",
        "pod 的值为 {pod}：应写作 命名空间/名称，例如 ?pod=default/train。",
    ),
    "node.legend_chosen": ("chosen for the pod", "为该 Pod 选中"),
    "node.legend_runner_up": ("runner-up", "次选"),
    "node.uuid": ("UUID", "UUID"),
    "node.slots_used": ("{used} of {all}", "{used} / {all}"),
    "error.code.no-node": (
        "There is no node of that name with cards that you may see; the cluster page shows those that you may.",
        "没有这个名称的带卡节点，或您无权查看；集群页列出您可以查看的节点。",
    ),
}

COUNTED: Final[CountedWords] = {
    "node.other_pods": (
        "a pod of another namespace",
        "{n} pods of other namespaces",
        "其他命名空间的 {n} 个 Pod",
    ),
    "node.more_pods": ("and {n} more", "and {n} more", "另有 {n} 个"),
    "node.link_count": ("{n} link", "{n} links", "{n} 条"),
    "node.label_count": ("{n} label", "{n} labels", "{n} 个标签"),
}
