"""What the money commands say to a person, in English and in Chinese."""

from collections.abc import Mapping

_ENGLISH = {
    "quote": "{quote}: {stage}, {items} items",
    "item": "item",
    "made_by": "made by",
    "from": "made from",
    "versions": "{count} versions",
    "price": "price",
    "total": "total      {total}   (never more than {ceiling})",
    "state": "state      {state}, expires {expires} UTC",
    "resend": "re-sent after a proven rejection for lack of capacity: up to {times} times per item,"
    " at no further price",
    "how": "confirm    shortdrama quote confirm {quote} --idempotency-key KEY",
    "bought": "{execution}: {items} items put to work.",
    "again": "{execution}: {items} items, confirmed before; nothing was bought again.",
    "available": "available  {money}",
    "reserved": "reserved   {money}",
    "settled": "settled    {money}",
    "vendors": "vendors    {money}",
    "open": "open",
    "expired": "expired",
    "confirmed": "confirmed",
    "superseded": "superseded",
}
_CHINESE = {
    "quote": "{quote}：{stage}，共 {items} 项",
    "item": "条目",
    "made_by": "制作通道",
    "from": "依据版本",
    "versions": "{count} 个版本",
    "price": "价格",
    "total": "合计    {total}（绝不超过 {ceiling}）",
    "state": "状态    {state}，有效至 {expires} UTC",
    "resend": "若被证实因限流而未受理：每项最多重新提交 {times} 次，不另收费",
    "how": "确认    shortdrama quote confirm {quote} --idempotency-key KEY",
    "bought": "{execution}：已下单 {items} 项。",
    "again": "{execution}：{items} 项此前已确认，没有重复购买。",
    "available": "可用    {money}",
    "reserved": "冻结    {money}",
    "settled": "已结算  {money}",
    "vendors": "供应商  {money}",
    "open": "待确认",
    "expired": "已过期",
    "confirmed": "已确认",
    "superseded": "已被新报价取代",
}


def phrases(language: str) -> Mapping[str, str]:
    """The phrases of the studio's language; English where there is no other."""
    return _CHINESE if language.lower().startswith("zh") else _ENGLISH
