"""Every rule, suggestion, stage and code of the scheduler in a few words; with amounts where the engine gives some."""

from __future__ import annotations

from typing import Final

from tangram.web.language import CountedWords, Words

_REASONS: Final[Words] = {
    "rules.reason.fits": ("fits", "满足要求"),
    "rules.reason.unschedulable": ("cordoned", "节点已封锁"),
    "rules.reason.selector": ("the node selector does not match", "节点选择器（nodeSelector）不匹配"),
    "rules.reason.affinity": ("the required node affinity does not match", "必需的节点亲和性不匹配"),
    "rules.reason.taint": ("a taint is not tolerated", "存在未容忍的污点"),
    "rules.reason.host-cpu": ("too little CPU", "CPU 不足"),
    "rules.reason.host-memory": ("too little host memory", "主机内存不足"),
    "rules.reason.host-pods": ("no room for another pod", "节点的 Pod 数已达上限"),
    "rules.reason.host-counted": (
        "too little of Koordinator's resources is stated on the node",
        "节点声明的 Koordinator 资源不足",
    ),
    "rules.reason.no-such-cards": ("too few cards of the kind asked", "所申请类型的卡数量不足"),
    "rules.reason.cards": ("too few cards fit", "满足要求的卡数量不足"),
    "rules.reason.scope": (
        "enough cards fit, but not near enough to each other",
        "满足要求的卡足够，但拓扑距离过远",
    ),
    "rules.reason.card-per-container": (
        "containers need different cards, and the plugin there reads one list for the pod",
        "各容器需要不同的卡，而该节点的插件对整个 Pod 只读取一份卡列表",
    ),
    "rules.reason.absent": ("not there", "不存在"),
    "rules.reason.vendor": ("cards of another vendor", "卡属于其他厂商"),
    "rules.reason.mode": ("cards are offered in another way", "卡的使用模式不同"),
    "rules.reason.health": ("cards are unhealthy", "卡异常"),
    "rules.reason.cordoned": ("cards are cordoned", "卡已封锁"),
    "rules.reason.app-class": ("cards run pods of another class", "卡上运行着其他应用类别的 Pod"),
    "rules.reason.qos": ("cards run another QoS policy", "卡正在使用其他 QoS 策略"),
    "rules.reason.uuid": ("cards are excluded by uuid", "卡被 UUID 列表排除"),
    "rules.reason.product": ("cards are excluded by product", "卡被型号列表排除"),
    "rules.reason.slots": ("cards have no slot left", "卡的切片数已达上限"),
    "rules.reason.mutex": ("cards are in use", "卡已被占用"),
    "rules.reason.memory-tier": (
        "cards cannot make a slice of that size",
        "卡无法划分该大小的切片",
    ),
    "rules.reason.memory": ("cards have too little free memory", "卡的空闲显存不足"),
    "rules.reason.cores": ("cards have too little free compute", "卡的空闲算力不足"),
    "rules.reason.exclusive": ("cards are in use", "卡已被占用"),
    "rules.reason.compute-taken": ("cards have no compute left", "卡的算力已全部分配"),
    "rules.reason.other-card": (
        "cards are out of reach of the pod's other cards",
        "卡与该 Pod 的其他卡不可组合",
    ),
}

_NODES: Final[Words] = {
    "rules.node.unschedulable": ("the node is cordoned", "节点已封锁（cordon）"),
    "rules.node.selector": ("its labels do not match the node selector", "标签与 nodeSelector 不匹配"),
    "rules.node.affinity": ("its labels do not match the node affinity", "标签与节点亲和性不匹配"),
    "rules.node.taint": ("a taint is not tolerated", "有未容忍的污点"),
    "rules.node.host-cpu": ("{have} CPU free of {need} needed", "空闲 CPU {have} 核，需要 {need} 核"),
    "rules.node.host-memory": (
        "{have} host memory free of {need} needed",
        "空闲主机内存 {have}，需要 {need}",
    ),
    "rules.node.host-pods": ("its kubelet takes no more pods", "kubelet 不再接收新的 Pod"),
    "rules.node.host-counted": ("too little of Koordinator's resources", "节点声明的 Koordinator 资源不足"),
    "rules.node.card-per-container": (
        "containers need different cards; its plugin reads one list for the pod",
        "各容器需要不同的卡，而其插件对整个 Pod 只读取一份卡列表",
    ),
    "rules.node.no-such-cards": (
        "has {have} cards of the kind asked, {need} needed",
        "有 {have} 张所申请类型的卡，需要 {need} 张",
    ),
    "rules.node.scope": (
        "{have} cards fit, but no {need} within one {detail}",
        "{have} 张卡满足要求，但没有 {need} 张位于同一 {detail} 内",
    ),
    "rules.node.cards": ("{have} of {need} needed", "需要 {need} 张卡，{have} 张满足要求"),
    "rules.node.some": ("{reason} ({count})", "{reason}（{count} 张）"),
    "rules.node.join": ("; ", "；"),
    "rules.node.detail": ("{reason}: {detail}", "{reason}：{detail}"),
}

_CARDS: Final[Words] = {
    "rules.card.chosen": ("chosen", "已选中"),
    "rules.card.fits": ("fits", "满足要求"),
    "rules.card.not-tried": ("not tried", "未检查"),
    "rules.card.absent": ("not there", "不存在"),
    "rules.card.vendor": ("made by {detail}", "厂商为 {detail}"),
    "rules.card.mode": ("offered as {detail}", "使用模式为 {detail}"),
    "rules.card.health": ("unhealthy {detail}", "异常 {detail}"),
    "rules.card.cordoned": ("cordoned", "已封锁"),
    "rules.card.app-class": ("runs {detail} pods", "正在运行 {detail} 类 Pod"),
    "rules.card.qos": ("runs policy {detail}", "正在使用 {detail} 策略"),
    "rules.card.uuid": ("excluded by the uuid lists", "被 UUID 列表排除"),
    "rules.card.product": ("excluded by the type lists ({detail})", "被型号列表排除（{detail}）"),
    "rules.card.slots": ("no slot left", "切片数已达上限"),
    "rules.card.mutex": (
        "in use by {have} pods, the pod asks for an unused card",
        "已有 {have} 个 Pod，该 Pod 要求独占空闲卡",
    ),
    "rules.card.memory-tier": (
        "cannot make a slice of {need} (nearest below: {have})",
        "无法划分 {need} 的切片（可用的较小规格：{have}）",
    ),
    "rules.card.memory": (
        "{have} free of {total}, {need} needed, {short} short",
        "空闲显存 {have}（共 {total}），需要 {need}，还差 {short}",
    ),
    "rules.card.memory-above-card": (
        "{total} can be sliced on this card, {need} needed",
        "该卡可切分的显存共 {total}，需要 {need}",
    ),
    "rules.card.cores": (
        "{have} compute free of {need} needed, {short} short",
        "空闲算力 {have}，需要 {need}，还差 {short}",
    ),
    "rules.card.exclusive": (
        "in use by {have} pods, the whole card is asked",
        "已有 {have} 个 Pod 使用，需要整卡",
    ),
    "rules.card.compute-taken": ("all compute is taken", "算力已全部分配"),
    "rules.card.other-card": ("out of reach of the pod's other cards", "与该 Pod 的其他卡不可组合"),
}

_GAPS: Final[Words] = {
    "rules.gap.memory": ("{short} short on card {card}", "卡 {card} 还差 {short} 显存"),
    "rules.gap.cores": ("{short} compute short on card {card}", "卡 {card} 还差 {short} 算力"),
    "rules.gap.cpu": ("{short} CPU short", "还差 {short} 核 CPU"),
    "rules.gap.host-memory": ("{short} host memory short", "还差 {short} 主机内存"),
    "rules.gap.other": ("{reason}", "{reason}"),
}

_ADVICE: Final[Words] = {
    "rules.advice.drop-scope": (
        "drop the rule that all cards lie within one {scope}",
        "去掉“所有卡位于同一 {scope} 内”的要求",
    ),
    "rules.advice.drop-mutex": (
        "drop card policy mutex, which wants a card nobody else uses",
        "去掉 mutex 选卡策略（它要求没有其他 Pod 的卡）",
    ),
    "rules.advice.drop-card-lists": (
        "drop the lists of allowed and forbidden cards",
        "去掉允许与禁止使用的卡列表",
    ),
    "rules.advice.other-qos": (
        "ask for policy {qos} instead of {was}",
        "将 QoS 策略由 {was} 改为 {qos}",
    ),
    "rules.advice.drop-app-class": ("drop the app class", "去掉应用类别（app class）"),
    "rules.advice.less-memory": (
        "ask for {less} less memory: {memory} per card",
        "每张卡少申请 {less} 显存，即 {memory}",
    ),
    "rules.advice.less-compute": (
        "ask for {cores} compute instead of {was}",
        "将算力由 {was} 减为 {cores}",
    ),
    "rules.advice.fewer-cards": (
        "ask for {count} cards instead of {was}",
        "将卡数由 {was} 张减为 {count} 张",
    ),
    "rules.advice.drop-node-rules": (
        "drop nodeSelector and required node affinity",
        "去掉 nodeSelector 与必需的节点亲和性",
    ),
    "rules.advice.tolerate": ("tolerate taint {taint}", "容忍污点 {taint}"),
    "rules.advice.less-host": ("ask for less CPU and host memory", "减少申请的 CPU 与主机内存"),
    "rules.advice.when-pod-ends": ("wait until pod {pod} ends", "等待 Pod {pod} 结束"),
    "rules.advice.when-somebody-ends": (
        "wait until a pod of another namespace ends",
        "等待其他命名空间的一个 Pod 结束",
    ),
}

_STAGES: Final[Words] = {
    "rules.stage.filter": ("looked for a node", "筛选节点"),
    "rules.stage.bind": ("bound to a node", "绑定节点"),
    "rules.stage.preempt": ("made room for it", "抢占腾出资源"),
    "rules.stage.refused": ("refused", "已拒绝"),
    "rules.stage.quota": ("waits for quota", "等待配额"),
    "rules.stage.gang": ("waits for the rest of its gang", "等待同组其他 Pod"),
    "rules.stage.waiting": ("only promises to others are in its way", "仅等待其他 Pod 的预留释放"),
}

_CODES: Final[Words] = {
    "rules.code.no-containers": ("No containers", "没有容器"),
    "rules.code.privileged": ("Privileged container", "特权容器"),
    "rules.code.too-many-containers": ("Too many containers", "容器过多"),
    "rules.code.amount-empty": ("Empty amount", "数量为空"),
    "rules.code.amount-unreadable": ("Unreadable amount", "数量无法识别"),
    "rules.code.amount-zero": ("Amount of zero", "数量为零"),
    "rules.code.amount-negative": ("Negative amount", "数量为负"),
    "rules.code.amount-fractional": ("Fractional amount", "数量不是整数"),
    "rules.code.amount-too-large": ("Amount too large", "数量过大"),
    "rules.code.limit-differs-from-request": ("Limit and request differ", "limits 与 requests 不一致"),
    "rules.code.request-without-limit": ("Request without limit", "只有 requests 没有 limits"),
    "rules.code.host-amount": ("CPU or host memory", "CPU 或主机内存数量有误"),
    "rules.code.resource-renamed": ("Resource has another name here", "本集群使用其他资源名"),
    "rules.code.two-vendors": ("Two vendors in one container", "同一容器使用两家厂商"),
    "rules.code.whole-and-slice": ("Whole cards and slices at once", "同时申请整卡与切片"),
    "rules.code.slice-without-count": ("Slice without a number of cards", "切片未指定卡数"),
    "rules.code.cores-out-of-range": ("Compute out of range", "算力超出范围"),
    "rules.code.memory-below-one-mib": ("Less than 1 MiB of memory", "显存小于 1 MiB"),
    "rules.code.memory-below-one-step": ("Less memory than a card is sliced by", "显存小于切分单位"),
    "rules.code.memory-ambiguous": ("Ambiguous memory", "显存单位有歧义"),
    "rules.code.memory-not-a-tier": ("No such slice size", "没有该大小的切片规格"),
    "rules.code.memory-above-largest-card": (
        "More memory than any card can slice",
        "显存超过集群中可切分的最大值",
    ),
    "rules.code.several-cards-in-slices": ("A part of several cards", "多张卡只能整卡申请"),
    "rules.code.one-card-per-pod": ("One card for the pod's slices", "同一 Pod 的切片须在一张卡上"),
    "rules.code.koordinator-without-vendor": ("Koordinator without a vendor", "Koordinator 资源未指明厂商"),
    "rules.code.koordinator-mixed-words": ("Two vocabularies at once", "混用两套资源名"),
    "rules.code.koordinator-combination": ("Words that do not go together", "Koordinator 资源组合不合法"),
    "rules.code.koordinator-core-missing": ("gpu-core is missing", "缺少 gpu-core"),
    "rules.code.koordinator-unit": ("Percentage out of range", "百分比不合法"),
    "rules.code.koordinator-count-mismatch": ("Number of cards differs", "卡数不一致"),
    "rules.code.koordinator-several-containers": ("Several containers ask", "多个容器同时申请"),
    "rules.code.koordinator-other-vendor": ("Another vendor beside", "同时使用其他厂商资源"),
    "rules.code.koordinator-other-device": ("Another kind of device", "包含其他类型设备"),
    "rules.code.koordinator-former-name": ("Former resource name", "使用了旧资源名"),
    "rules.code.node-policy-unknown": ("Unknown node policy", "未知的节点策略"),
    "rules.code.card-policy-unknown": ("Unknown card policy", "未知的选卡策略"),
    "rules.code.card-policy-repeated": ("Card policy repeated", "选卡策略重复"),
    "rules.code.weights-malformed": ("Malformed weights", "权重格式有误"),
    "rules.code.not-a-boolean": ("Neither true nor false", "不是布尔值"),
    "rules.code.scope-unknown": ("Unknown scope", "未知的拓扑范围"),
    "rules.code.scope-conflict": ("Scopes contradict each other", "拓扑范围相互冲突"),
    "rules.code.hint-malformed": ("Malformed hint", "提示格式有误"),
    "rules.code.hint-field-unknown": ("Unknown field of a hint", "提示中有未知字段"),
    "rules.code.hint-scope-unknown": ("Unknown scope in a hint", "提示中的拓扑范围未知"),
    "rules.code.hint-word-unknown": ("Unknown word in a hint", "提示中有未知取值"),
    "rules.code.hint-unsupported": ("Hint that cannot be met", "不支持的提示"),
    "rules.code.hint-other-device": ("Hint about another device", "提示涉及其他设备"),
    "rules.code.isolation-provider": ("Isolation provider", "隔离组件标签"),
    "rules.code.qos-unknown": ("Unknown QoS policy", "未知的 QoS 策略"),
    "rules.code.app-class-unknown": ("Unknown app class", "未知的应用类别"),
    "rules.code.app-class-several-cards": ("App class with several cards", "应用类别只支持单卡"),
    "rules.code.maca-unknown": ("Unknown MXMACA version", "未知的 MXMACA 版本"),
    "rules.code.list-with-gap": ("List with an empty entry", "列表中有空项"),
    "rules.code.list-entry-unreadable": ("Unreadable entry in a list", "列表项无法识别"),
    "rules.code.list-leaves-nothing": ("Lists leave no card", "列表排除了所有卡"),
    "rules.code.list-for-one-vendor": ("List for one of two vendors", "列表只涉及一家厂商"),
    "rules.code.pod-unreadable": ("Unreadable part of the pod", "Pod 中有无法识别的内容"),
    "rules.code.compute-defaults-to-whole-card": ("Takes all compute of the card", "将占用整卡算力"),
    "rules.code.memory-defaults-to-whole-card": ("Takes all memory of the card", "将占用整卡显存"),
    "rules.code.compute-not-limited": ("Compute is not limited", "算力不受限制"),
    "rules.code.card-count-fragments": ("A number of cards that fragments", "易产生碎片的卡数"),
    "rules.code.no-compute-reserved": ("Reserves no compute", "没有预留算力"),
    "rules.code.compute-is-a-weight": ("Compute is a weight", "算力只是权重"),
    "rules.code.compute-rounded-up": ("Compute is rounded up", "算力向上取整"),
    "rules.code.memory-rounded-down": ("Memory is rounded down", "显存向下取整"),
    "rules.code.list-needs-named-cards": ("Some cards have no id to list", "部分卡没有可列出的 ID"),
    "rules.code.listed-in-both": ("In both lists", "同时出现在两个列表中"),
    "rules.code.product-unknown": ("Unknown model", "未知的型号"),
    "rules.code.annotation-without-effect": ("Annotation without effect", "注解不起作用"),
    "rules.code.other-scheduler": ("Another scheduler", "由其他调度器调度"),
    "rules.code.resource-unknown": ("Unknown resource", "未知的资源名"),
    "rules.code.node-unreadable": ("Unreadable node", "节点信息无法识别"),
}

WORDS: Final[Words] = {
    **_REASONS,
    **_NODES,
    **_CARDS,
    **_GAPS,
    **_ADVICE,
    **_STAGES,
    **_CODES,
    "rules.verdict.fits": ("{pod} fits on node {node}.", "{pod} 可以调度到节点 {node}。"),
    "rules.verdict.waits": (
        "{pod} waits: none of {nodes} nodes fits.",
        "{pod} 正在等待：{nodes} 个节点均不满足要求。",
    ),
    "rules.verdict.waits-nowhere": (
        "{pod} waits: there is no node to look at.",
        "{pod} 正在等待：没有可用的节点。",
    ),
    "rules.verdict.refused": ("{pod} is refused.", "{pod} 被拒绝。"),
    "rules.verdict.no-cards": (
        "{pod} asks for no card of MetaX or Moore Threads, so there is nothing to place.",
        "{pod} 没有申请沐曦或摩尔线程的 GPU 卡，无需选卡。",
    ),
    "rules.verdict.not-ours": (
        "{pod} waits, and is not for this scheduler to place.",
        "{pod} 正在等待，但不由本调度器调度：它没有申请沐曦或摩尔线程的卡，或 schedulerName 不属于本调度器。",
    ),
    "rules.verdict.runs": ("{pod} is on node {node}.", "{pod} 已分配到节点 {node}。"),
    "rules.verdict.runs-without": (
        "{pod} is on node {node} and holds no card.",
        "{pod} 位于节点 {node}，未占用 GPU 卡。",
    ),
    "rules.verdict.ended": ("{pod} has ended.", "{pod} 已结束，不占用也不等待任何卡。"),
    "rules.word.fits": ("fits", "可调度"),
    "rules.word.waits": ("waits", "等待中"),
    "rules.word.refused": ("refused", "已拒绝"),
    "rules.word.no-cards": ("no cards", "不用卡"),
    "rules.word.runs": ("placed", "已分配"),
    "rules.word.ended": ("ended", "已结束"),
    "rules.compute.sixteenths": ("{cores}/16", "{cores}/16"),
    "rules.compute.percent": ("{cores}%", "{cores}%"),
    "rules.compute.none": ("none reserved", "未预留"),
}

COUNTED: Final[CountedWords] = {
    "rules.gap.cards": ("{n} card missing", "{n} cards missing", "还差 {n} 张卡"),
    "rules.cards": ("card {cards}", "cards {cards}", "卡 {cards}"),
    "rules.faults": ("{n} fault", "{n} faults", "{n} 处错误"),
}
