"""What is said before and after a card is taken out of placement."""

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "cordon.cordon.title": ("Cordon card {index} of {node}?", "封锁 {node} 的 {index} 号卡？"),
    "cordon.uncordon.title": ("Uncordon card {index} of {node}?", "解除封锁 {node} 的 {index} 号卡？"),
    "cordon.cordon.done": ("Card {index} of {node} is cordoned", "{node} 的 {index} 号卡已封锁"),
    "cordon.uncordon.done": ("Card {index} of {node} takes pods again", "{node} 的 {index} 号卡已恢复调度"),
    "cordon.cordon.effect": (
        "The card takes no new pods. Pods that sit on it keep running, and nothing is evicted.",
        "该卡不再接收新的 Pod。已在卡上的 Pod 继续运行，不会被驱逐。",
    ),
    "cordon.uncordon.effect": ("The card takes new pods again.", "该卡将重新接收新的 Pod。"),
    "cordon.nothing": ("It was so before; nothing changed.", "之前已是该状态，没有更改。"),
    "cordon.told": (
        "An event on the node and the dashboard's log say that {user} did it.",
        "节点事件和仪表盘日志会记录操作者 {user}。",
    ),
    "cordon.card": ("Card", "卡"),
    "cordon.pods": ("On the card", "卡上的 Pod"),
    "cordon.nobody": ("nobody", "无"),
    "cordon.same": ("The same on the command line:", "等效命令："),
    "cordon.cordon.do": ("Cordon this card", "封锁此卡"),
    "cordon.uncordon.do": ("Uncordon this card", "解除封锁"),
    "cordon.leave": ("Leave it as it is", "不做更改"),
    "cordon.back": ("Go to the node", "返回节点"),
    "error.code.may-not-act": (
        "You cannot change anything here: the dashboard must run with --actions, and you must be able to patch nodes.",
        "您不能在此进行更改：仪表盘需以 --actions 启动，且您的账号需有 patch 节点的权限。",
    ),
}

COUNTED: Final[CountedWords] = {
    "cordon.others": (
        "{n} pod of another namespace",
        "{n} pods of other namespaces",
        "其他命名空间的 {n} 个 Pod",
    ),
}
