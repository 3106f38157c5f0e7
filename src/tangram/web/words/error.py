"""What is said instead of a page."""

from typing import Final

from tangram.web.language import Words

WORDS: Final[Words] = {
    "error.title.400": ("This question cannot be read", "无法理解该请求"),
    "error.title.403": ("You may not see this", "您无权查看此内容"),
    "error.title.404": ("There is no such page", "页面不存在"),
    "error.title.405": ("This page is asked differently", "请求方式不正确"),
    "error.title.429": ("Too many questions at once", "请求过多"),
    "error.title.500": ("The page could not be made", "页面生成失败"),
    "error.title.503": ("There is no answer at the moment", "暂时没有应答"),
    "error.title.other": ("There is no answer", "没有应答"),
    "error.code.no-page": (
        "Nothing is at this address; the menu names every page.",
        "此地址没有内容；所有页面都在菜单中。",
    ),
    "error.code.failed": (
        "The dashboard failed while it made this page; its log says why. Try again, or go to another page.",
        "生成此页面时仪表盘出错，原因见其日志。请重试，或打开其他页面。",
    ),
    "error.back": ("Go to the cluster", "返回集群页"),
}
