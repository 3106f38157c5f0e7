"""What the explain page says."""

from __future__ import annotations

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "explain.title": ("Explain", "试排"),
    "explain.lead": (
        "Paste a manifest and see where it would go. Nothing is created: the live scheduler says what it would do now.",
        "粘贴清单，查看它会被放到哪里。不会创建任何对象：只是询问正在运行的调度器此刻会怎样决定。",
    ),
    "explain.manifest": (
        "Manifest, YAML or JSON, one document or several",
        "清单（YAML 或 JSON，可含多个文档）",
    ),
    "explain.namespace": ("Namespace, if none is named", "命名空间（清单未写时使用）"),
    "explain.node_policy": ("Node policy", "节点策略"),
    "explain.card_policy": ("Card policy", "选卡策略"),
    "explain.as_written": ("as the manifest says", "按清单所写"),
    "explain.ask": ("Where would it go?", "查看放置结果"),
    "explain.examples": ("Begin with an example", "从示例开始"),
    "explain.example.slice": ("A slice of a card", "单卡切片"),
    "explain.example.whole": ("A whole card", "整卡"),
    "explain.example.linked": ("Four linked cards", "四张互联的卡"),
    "explain.example.moore-threads": ("Moore Threads slice", "摩尔线程切片"),
    "explain.example.koordinator": ("In Koordinator's words", "Koordinator 写法"),
    "explain.example.deployment": ("A Deployment", "Deployment"),
    "explain.example.too-much": ("One that asks for much", "要求很高的 Pod"),
    "explain.example.none": (
        "There is no example “{word}”; these are there: {known}.",
        "没有名为“{word}”的示例；可用的有：{known}。",
    ),
    "explain.result": ("Result", "结果"),
    "explain.by": ("The same in a shell, with the manifest as pod.yaml", "同样的命令（清单保存为 pod.yaml）"),
    "explain.unasked": ("The scheduler did not answer: {why}", "调度器没有应答：{why}"),
    "explain.bad.title": ("This manifest cannot be read", "无法读取该清单"),
    "explain.bad.empty": (
        "There is nothing in it but blanks or comments: paste a manifest, such as one of the examples.",
        "内容为空或只有注释：请粘贴清单，例如下面的示例。",
    ),
    "explain.bad.long": ("It is longer than {most} KiB: paste less.", "内容超过 {most} KiB：请减少内容。"),
    "explain.bad.yaml": (
        "Line {line}, column {column}: {problem}; correct it, as YAML or JSON.",
        "第 {line} 行第 {column} 列有误（{problem}）：请按 YAML 或 JSON 语法更正。",
    ),
    "explain.bad.character": (
        "Line {line} holds a character that YAML does not allow: remove it.",
        "第 {line} 行含有 YAML 不允许的字符：请删除。",
    ),
    "explain.bad.deep": (
        "Line {line} is nested more than {most} deep: give YAML or JSON of a usual shape.",
        "第 {line} 行嵌套超过 {most} 层：请使用正常结构的 YAML 或 JSON。",
    ),
    "explain.bad.values": (
        "Up to line {line} it holds {most} keys and values, which is the most: paste less.",
        "到第 {line} 行已有 {most} 个键和值，达到上限：请减少内容。",
    ),
    "explain.bad.number": (
        "It holds a number or a text that cannot be read: shorten it, or put it in quotes.",
        "含有无法识别的数字或文本：请缩短，或加上引号。",
    ),
    "explain.bad.alias": (
        "Its aliases stand for more than can be written out: write the parts out by hand.",
        "其中的别名（alias）展开后过大：请直接写出内容。",
    ),
    "explain.bad.key": ("A key in it is {read}: keys are texts.", "键 {read} 无效：键必须是文本。"),
    "explain.bad.object": (
        "One of its documents is {read}: a manifest is a map that begins with apiVersion and kind.",
        "其中一个文档是 {read}：清单应是以 apiVersion 与 kind 开头的映射。",
    ),
    "explain.bad.documents": (
        "It has more than {most} documents: paste fewer.",
        "文档超过 {most} 个：请减少。",
    ),
    "explain.bad.kind": (
        "Nothing in it makes pods (kinds in it: {kinds}): give one of {legal}, or a List of them.",
        "其中没有会创建 Pod 的对象（类型：{kinds}）：请提供 {legal} 之一，或它们的 List。",
    ),
    "explain.bad.many": (
        "It makes {count} pods: at most {most} are looked at; paste fewer.",
        "它会创建 {count} 个 Pod：一次最多查看 {most} 个，请减少。",
    ),
    "explain.bad.namespace": (
        "The namespace is {read}: it is small letters, digits and hyphens, as in team-a.",
        "命名空间 {read} 无效：只能使用小写字母、数字和连字符，例如 team-a。",
    ),
    "explain.bad.sight": (
        "You may not see pods of namespace {namespace}, so nothing is said about it: choose another.",
        "您无权查看命名空间 {namespace} 的 Pod，因此不给出结论：请选择其他命名空间。",
    ),
    "explain.bad.policy": (
        "{field} is “{read}”, which is none of {legal}: choose one of these.",
        "{field} 的值“{read}”无效：请从 {legal} 中选择。",
    ),
}

COUNTED: Final[CountedWords] = {
    "explain.passed_over": (
        "{n} object that makes no pods was passed over.",
        "{n} objects that make no pods were passed over.",
        "已忽略 {n} 个不创建 Pod 的对象。",
    ),
}
