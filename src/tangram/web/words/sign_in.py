"""What is said at the door, and when a form is not taken."""

from typing import Final

from tangram.web.language import CountedWords, Words

WORDS: Final[Words] = {
    "sign_in.title": ("Sign in", "登录"),
    "sign_in.lead": (
        "You will see what your Kubernetes account may list: pods of its namespaces, and nodes.",
        "登录后看到的内容取决于您的 Kubernetes 账号有权列出哪些命名空间的 Pod，以及能否列出节点。",
    ),
    "sign_in.token": ("Kubernetes token", "Kubernetes 令牌"),
    "sign_in.hint": (
        "It is sent once, kept in the dashboard's memory until you sign out, and written nowhere.",
        "令牌只发送一次，仅在您退出前保存在仪表盘内存中，不会写入任何地方。",
    ),
    "sign_in.make": ("Make one for a service account of yours:", "为您的服务账号创建令牌："),
    "sign_in.send": ("Sign in", "登录"),
    "sign_in.why.unknown": (
        "This session is not known any more: the dashboard was started anew. Sign in again.",
        "此会话已失效：仪表盘已重启。请重新登录。",
    ),
    "sign_in.why.idle": (
        "You were signed out after an hour without a request. Sign in again.",
        "一小时内没有操作，已自动退出。请重新登录。",
    ),
    "sign_in.why.long": (
        "Sessions end after twelve hours. Sign in again.",
        "会话最长十二小时，现已到期。请重新登录。",
    ),
    "sign_in.why.revoked": (
        "The API server does not take your token any more: it has ended, or its account is gone. Sign in again.",
        "API 服务器不再接受您的令牌：令牌已过期，或其账号已被删除。请重新登录。",
    ),
    "sign_in.why.out": ("You are signed out.", "您已退出。"),
    "sign_in.why.wrong": (
        "That is not a token of this cluster, or it has ended. Paste the whole token, without quotation marks.",
        "该令牌不属于本集群，或已过期。请粘贴完整的令牌，不要带引号。",
    ),
    "sign_in.why.empty": (
        "No token was sent. Paste one into the field.",
        "没有收到令牌。请在输入框中粘贴令牌。",
    ),
    "error.code.rights-unknown": (
        "The API server did not say who you are or what you may see, so nothing is shown; try again in a moment.",
        "API 服务器没有答复您的身份和权限，因此不显示任何内容；请稍后重试。",
    ),
    "error.code.form-token": (
        "The form was made for another session, and nothing was done. Open the page again and send it from there.",
        "该表单属于另一个会话，未做任何更改。请重新打开页面后再提交。",
    ),
    "error.code.form-origin": (
        "The form does not come from this dashboard's own pages, and nothing was done. Open the page here instead.",
        "该表单不是从本仪表盘的页面提交的，未做任何更改；请在此打开页面后再提交。",
    ),
    "error.code.wrong-header": (
        "The token in the Authorization header is not one of this cluster, or has ended; send another one, or none.",
        "Authorization 请求头中的令牌不属于本集群，或已过期；请换一个令牌，或去掉该请求头后在此登录。",
    ),
}

COUNTED: Final[CountedWords] = {
    "sign_in.why.too-many": (
        "Too many wrong tokens came from your address. Try again in {n} second.",
        "Too many wrong tokens came from your address. Try again in {n} seconds.",
        "来自您地址的错误令牌过多。请在 {n} 秒后重试。",
    ),
}
