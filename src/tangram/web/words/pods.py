"""What the list of pods says, with the scheduler's reason words in a few words of people."""

from __future__ import annotations

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "pods.title": ("Pods", "Pod"),
    "pods.waiting": ("Waiting for cards", "等待分配的 Pod"),
    "pods.waiting_none": ("No pod waits for cards.", "没有 Pod 在等待卡。"),
    "pods.placed": ("On cards", "已占用卡的 Pod"),
    "pods.try": ("See where one would go", "看看 Pod 会被放到哪里"),
    "pods.placed_none": ("No pod holds a card.", "没有 Pod 占用卡。"),
    "pods.none_found": ("No pod matches.", "没有匹配的 Pod。"),
    "pods.waiting_region": ("Pods that wait", "等待中的 Pod 列表"),
    "pods.placed_region": ("Pods on cards", "已占用卡的 Pod 列表"),
    "pods.search": ("Pod or node", "Pod 或节点"),
    "pods.search_hint": ("part of a name", "名称的一部分"),
    "pods.any": ("any", "不限"),
    "pods.place": ("Place", "次序"),
    "pods.priority": ("Priority", "优先级"),
    "pods.asks": ("Asks for", "请求"),
    "pods.why": ("Why it waits", "等待原因"),
    "pods.since": ("Since", "等待时间"),
    "pods.whole": ("whole", "整卡"),
    "pods.each": ("{amount} of each", "每张 {amount}"),
    "pods.not_tried": ("not tried yet", "尚未尝试调度"),
    "pods.guessed": ("a guess", "推测"),
    "pods.page_of": ("Page {page} of {pages}", "第 {page} / {pages} 页"),
    "pods.waiting_pages": ("Pages of pods that wait", "等待中 Pod 的分页"),
    "pods.placed_pages": ("Pages of pods on cards", "已占用卡 Pod 的分页"),
    "pods.wrong_number": (
        "{field} is {value}: it is a page number of 1 or more, and was left out.",
        "{field} 的值为 {value}：应为不小于 1 的页码，已忽略。",
    ),
    "pods.wrong_long": (
        "{field} is longer than any name in Kubernetes and was left out: {value}",
        "{field} 超过 Kubernetes 名称的最大长度，已忽略：{value}",
    ),
    "pods.commands": ("The commands behind the numbers", "数字对应的命令"),
    "pods.by_waiting": ("Pods that wait, with the reason of each", "等待中的 Pod 及原因"),
    "pods.by_placed": ("Pods on cards, with their nodes and amounts", "已占用卡的 Pod、所在节点与资源量"),
    "pods.by_one": ("One pod: what it got, or why it waits", "单个 Pod：分配结果或等待原因"),
    "pods.word.CardTypeMismatch": ("cards of another vendor or model", "卡的厂商或型号不符"),
    "pods.word.CardModeMismatch": ("cards are offered in another way", "卡的使用方式不符"),
    "pods.word.CardNotHealth": ("cards are unhealthy", "卡异常"),
    "pods.word.CardUnhealthy": ("cards are unhealthy", "卡异常"),
    "pods.word.CardCordoned": ("cards are cordoned", "卡已封锁"),
    "pods.word.CardAppClassMismatch": ("cards run pods of another class", "卡上运行着其他应用类别的 Pod"),
    "pods.word.CardQosPolicyMismatch": ("cards run another QoS policy", "卡正在使用其他 QoS 策略"),
    "pods.word.CardUuidMismatch": ("cards are excluded by uuid", "卡被 UUID 列表排除"),
    "pods.word.CardTimeSlicingExhausted": ("cards have no slot left", "卡的切片数已达上限"),
    "pods.word.ExclusiveDeviceAllocateConflict": ("cards are in use", "卡已被占用"),
    "pods.word.CardMemoryTierMismatch": ("cards cannot make a slice of that size", "卡无法划分该大小的切片"),
    "pods.word.CardInsufficientMemory": ("too little free memory on cards", "卡的空闲显存不足"),
    "pods.word.CardInsufficientCore": ("too little free compute on cards", "卡的空闲算力不足"),
    "pods.word.CardComputeUnitsExhausted": ("cards have no compute left", "卡的算力已全部分配"),
    "pods.word.CardNotFoundCustomFilterRule": ("cards out of reach of its other cards", "卡与其他卡不可组合"),
    "pods.word.AllocatedCardsInsufficientRequest": ("too few cards fit", "满足要求的卡数量不足"),
    "pods.word.NodeUnschedulable": ("nodes are cordoned", "节点已封锁"),
    "pods.word.NodeSelectorMismatch": ("the node selector does not match", "nodeSelector 不匹配"),
    "pods.word.NodeAffinityMismatch": ("the node affinity does not match", "节点亲和性不匹配"),
    "pods.word.NodeTaintNotTolerated": ("a taint is not tolerated", "存在未容忍的污点"),
    "pods.word.NodeInsufficientCpu": ("too little CPU on nodes", "节点 CPU 不足"),
    "pods.word.NodeInsufficientMemory": ("too little host memory", "节点内存不足"),
    "pods.word.NodeTooManyPods": ("no room for another pod on nodes", "节点 Pod 数已达上限"),
    "pods.word.NodeInsufficientKoordinatorAmount": (
        "too little of Koordinator's resources on nodes",
        "节点声明的 Koordinator 资源不足",
    ),
    "pods.word.NodeInsufficientDevice": ("too few cards of the kind asked", "所请求类型的卡数量不足"),
    "pods.word.NodeUnfitPod": ("no node fits", "没有节点满足要求"),
    "pods.word.NodeTopologyScopeMismatch": (
        "cards are not near enough to each other",
        "卡之间的拓扑距离过远",
    ),
    "pods.word.NodeOneCardListPerPod": (
        "containers need different cards",
        "各容器需要不同的卡",
    ),
    "pods.word.Refused": ("refused", "已拒绝"),
    "pods.word.PromisedToOthers": ("promised to others for now", "暂时预留给其他 Pod"),
    "pods.word.ResourceQuotaNotFit": ("quota used up", "配额不足"),
    "pods.word.GangIncomplete": ("waits for the rest of its gang", "等待同组其他 Pod"),
    "pods.word.RoomBeingMade": ("room is being made for it", "正在为其腾出资源"),
    "pods.word.TriedAgain": ("tried again soon", "稍后重试"),
}

COUNTED: Final[CountedWords] = {
    "pods.cards_worth": ("{n:g} card", "{n:g} cards", "{n:g} 张卡"),
    "pods.untold": (
        "And {n:,} pod waits of which the scheduler does not tell one by one.",
        "And {n:,} pods wait of which the scheduler does not tell one by one.",
        "另有 {n:,} 个等待中的 Pod，调度器未逐个上报。",
    ),
}
