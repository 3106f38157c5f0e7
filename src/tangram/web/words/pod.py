"""What the pod page says, and the report it shares with the explain page."""

from __future__ import annotations

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "error.code.no-pod": (
        "There is no such pod, or you may not see it: kubectl get pods -A lists those that are there.",
        "没有这个 Pod，或者您无权查看；可用 kubectl get pods -A 列出现有的 Pod。",
    ),
    "pod.title": ("Pod {pod}", "Pod {pod}"),
    "pod.all": ("All pods", "全部 Pod"),
    "pod.waiting_since": ("waiting since", "等待起始时间"),
    "pod.turn": ("Place in the queue", "排队位置"),
    "pod.turn.of": ("{place} of {of}", "第 {place} 位，共 {of} 个"),
    "pod.turn.why": (
        "by priority, then by who came first",
        "先按优先级，再按到达先后",
    ),
    "pod.last": ("Last verdict", "最近一次结论"),
    "pod.last.words": ("Words met", "原因码"),
    "pod.policies": ("Policies", "放置策略"),
    "pod.got": ("What it got", "分配结果"),
    "pod.would_get": ("What it would get", "预计分配"),
    "pod.guessed": (
        "Nobody wrote down which cards it has; this is a guess from what it asked for.",
        "没有记录表明它占用哪些卡，以下为按其申请推测的结果。",
    ),
    "pod.container": ("Container", "容器"),
    "pod.role": ("Role", "类型"),
    "pod.role.app": ("app", "业务容器"),
    "pod.role.init": ("init", "初始化容器"),
    "pod.role.sidecar": ("sidecar", "边车容器"),
    "pod.kind": ("Kind", "方式"),
    "pod.see_cards": ("See the cards on {node}", "在 {node} 上查看这些卡"),
    "pod.reasons": ("Why no node fits", "各节点不满足的原因"),
    "pod.nearest": ("How far from fitting", "距离满足要求还差多少"),
    "pod.nearest.met": ("{share} of what is needed is there", "已满足所需的 {share}"),
    "pod.advice": ("What would help", "怎样才能运行"),
    "pod.advice.none": (
        "No single change was found that would let it run now.",
        "没有找到只改一处就能让它立即运行的办法。",
    ),
    "pod.advice.then": ("then it goes to {node}", "之后将调度到 {node}"),
    "pod.advice.verified": ("verified just now", "刚刚验证通过"),
    "pod.advice.no_yaml": ("no manifest to change", "无需修改清单"),
    "pod.advice.unread": (
        "The pod could not be read, so there is no changed YAML: {why}",
        "无法读取该 Pod，因此没有可复制的 YAML：{why}",
    ),
    "pod.yaml.copy": ("Copy changed YAML", "复制修改后的 YAML"),
    "pod.yaml.show": ("Show the changed {kind} {name}", "查看修改后的 {kind} {name}"),
    "pod.yaml.label": ("Changed manifest", "修改后的清单"),
    "pod.yaml.apply": ("Save it as changed.yaml, then", "保存为 changed.yaml，然后执行"),
    "pod.yaml.instead": (
        "Put it in the place of what you pasted.",
        "用它替换您粘贴的清单。",
    ),
    "pod.note.owner": (
        "This is the pod alone. {owner}, which makes it, could not be read: make the same change there.",
        "以上只是 Pod 本身。它由 {owner} 创建，但无法读取该对象：请在那里做同样的修改。",
    ),
    "pod.note.delete": (
        "It keeps the pods that wait as they were: delete this pod afterwards.",
        "该控制器不会替换正在等待的 Pod：修改后请删除此 Pod。",
    ),
    "pod.note.next-run": (
        "It counts from the next run on; the pod that waits stays as it is.",
        "修改从下一次运行开始生效，当前等待的 Pod 不变。",
    ),
    "pod.refusals": ("Faults", "错误"),
    "pod.cautions": ("Worth a look", "提醒"),
    "pod.nodes": ("Nodes", "节点"),
    "pod.nodes.hint": ("Open a node to see it card by card.", "展开节点可逐卡查看。"),
    "pod.node.chosen": ("chosen", "已选中"),
    "pod.node.fits": ("fits", "满足"),
    "pod.node.fails": ("does not fit", "不满足"),
    "pod.node.score": ("score {score}", "得分 {score}"),
    "pod.sets": ("Sets of cards that were weighed", "参与比较的卡组合"),
    "pod.sets.chosen": ("chosen", "已选中"),
    "pod.sets.runner_up": ("runner-up", "次优"),
    "pod.sets.least_loss": ("least loss", "影响最小"),
    "pod.sets.score": ("Score", "得分"),
    "pod.sets.loss": ("Loss for the rest", "对其余卡的影响"),
    "pod.card.chosen": ("chosen", "选中"),
    "pod.card.fits": ("fits", "满足"),
    "pod.card.failed": ("no", "不满足"),
    "pod.card.not-tried": ("not tried", "未检查"),
    "pod.card.verdict": ("Verdict", "结论"),
    "pod.card.memory_free": ("Memory free", "空闲显存"),
    "pod.card.cores_free": ("Compute free", "空闲算力"),
    "pod.card.held_by": ("Held by", "占用者"),
    "pod.card.nobody": ("nobody", "无"),
    "pod.cards_of": ("Cards of {node}", "{node} 的卡"),
    "pod.by.explain": ("The whole answer", "完整结论"),
    "pod.by.kubectl": ("What Kubernetes says", "Kubernetes 中的状态"),
    "pod.by.status": ("Cards and who is on them", "各卡及其占用者"),
    "pod.not_looked_at": (
        "Not looked at here: pod affinity, volumes, ports and quotas of Kubernetes.",
        "此处未检查：Pod 亲和性、存储卷、端口与 Kubernetes 配额。",
    ),
}

COUNTED: Final[CountedWords] = {
    "pod.more_nodes": ("and {n:,} node more", "and {n:,} nodes more", "另有 {n:,} 个节点"),
}
