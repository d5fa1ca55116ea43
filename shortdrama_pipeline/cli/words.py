"""The few words of the flow's tables, in the studio's language; and reading a stage's name."""

from shortdrama_pipeline.cli import output
from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.states import Stage

DOMAINS = ("content_confirmation", "generation_readiness", "task", "remote_submission", "money", "asset")

_CHINESE = {
    "stage": "阶段",
    "state": "状态",
    "ready": "完成",
    "waits for": "等待",
    "spent": "花费",
    "stage_run": "进度",
    "outline": "大纲",
    "script": "剧本",
    "assets": "资产",
    "storyboard": "分镜",
    "pilot": "试拍",
    "shots": "拍摄",
    "audio": "配音",
    "timeline": "剪辑",
    "export": "成片",
    "blocked": "未开放",
    "quoted": "待确认报价",
    "working": "进行中",
    "attention": "需要处理",
    "gate": "待确认",
    "done": "已通过",
    "stale": "已过期",
    "content_confirmation": "内容确认",
    "generation_readiness": "生成就绪",
    "task": "任务",
    "remote_submission": "远端提交",
    "money": "资金",
    "asset": "素材",
    "version": "版本",
    "subject": "对象",
    "role": "角色",
    "selected": "选用",
    "made from": "来源",
    "item": "条目",
    "price": "价格",
    "binding": "通道",
    "total": "合计",
    "yes": "是",
}


class Words:
    """Says a word in the language of `[studio]`; the word itself where there is no other."""

    def __init__(self, language: str) -> None:
        self._known = _CHINESE if language.lower().startswith("zh") else {}

    def __call__(self, word: str) -> str:
        return self._known.get(word, word)


def stage(name: str) -> Stage:
    """Return the stage of this name; UsageError names the nearest."""
    try:
        return Stage(name)
    except ValueError as error:
        names = [str(each) for each in Stage]
        hint = output.nearest(name, names) or f"The stages are: {', '.join(names)}"
        raise UsageError(f"There is no stage {name!r}", hint=hint) from error


def amount(document: object) -> str:
    """Write money as people read it."""
    if not isinstance(document, dict):
        return "-"
    return str(Money(int(document["micros"]), str(document["currency"])))
