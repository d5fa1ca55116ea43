"""Who says it: the words before or after a quotation, in Chinese and in English. Pure.

`女黯然曰：` is 女, with the manner 黯然. `said Mrs. Bennet,` is Mrs. Bennet. `他说，` and `said he`
say that somebody speaks and not who: the name is empty. Windows are short, so the time is bounded.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

WINDOW = 160  # characters beside a quotation that are looked at
CLAUSE_MAX = 24  # a longer Chinese clause tells more than who speaks
NAME_ZH_MAX = 4

_VERB_ZH = (
    r"(?:(?:回答|反问|追问|质问|询问|解释|低语|呢喃|嘟囔|嘀咕|喃喃|吩咐|命令|宣布|大喊|大叫|怒吼|惊呼|尖叫|哭喊|"
    r"说|问|答|笑|喝|叫|嚷|喊|骂|叹|哭|吼|劝|嗔|啐|斥|争辩|辩|讲|吟|唱|念|接|哼|叹息|感叹|插嘴|补充|开口|回)"
    r"(?:着说|着道|着|了)?(?:说道|道|曰|说)|说|道|问|曰|言|云|答|回答|反问|追问|质问|吩咐|"
    r"喊|叫|嚷|骂|笑|吼|叹|低语|呢喃|嘟囔|嘀咕|开口|解释|补充)(?:着|了|过)?(?:一句|一声)?"
)
_ENDS_VERB = re.compile(rf"(?P<verb>{_VERB_ZH})$")
SPEECH_VERB_ENDS = re.compile(r"(?:说道|问道|答道|笑道|喊道|叫道|骂道|叹道|嚷道|说|曰|问道?)$")
_BREAK_ZH = '，。！？；：、,.!?;:…—”’」』"\n 　（）()'
_PRONOUN_ZH = re.compile(
    r"^(?:[他她它你谁其某各皆众]|他们|她们|它们|我们|你们|咱们|大家|众人|人们|有人|旁人|那人|这人|别人|有的(?:人)?|"
    r"一个|所有人|两人|二人|自己|对方|[又便就也再才乃遂则复因亦却都还只且方人或])$"
)
_FUNCTION_ZH = re.compile(
    r"[的了着在是有不这那把被将与和从到给让使就便却又也都还而但若如虽因为所以之其于以得过"
    r"吗呢吧啊说问道曰一二两几个么什很更最可能会要想没无]"
)
_LEAD_ZH = re.compile(
    r"^(?:于是|然后|接着|这时候?|此时|那时|忽然|突然|只见|只听|却见|但|而|可是|不料|谁知|半晌|良久|许久|随后|"
    r"最后|终于)+"
)
_TOWARDS_ZH = re.compile(r"^(?P<who>.{1,8}?)(?P<to>[对向朝冲跟].{1,8})$")
_ADVERBS_ZH = re.compile(
    r"(?:(?:(?P<a>[一-龥])(?P=a)(?P<b>[一-龥])(?P=b)|[一-龥]{2})[地的]|[一-龥]然|[一-龥]声|"
    r"(?P<c>[冷淡轻缓慢默悄柔弱怯幽静狠暗])(?P=c)|[一-龥]{0,3}着|点头|摇头|皱眉|转身|抬头|低头|咬牙|红着脸|"
    r"一面|一边|连忙|急忙|赶紧|赶忙|慌忙|只好|不禁|不由得|忍不住|开口|继续|再次|这才|方才|大怒|大喜|大惊|"
    r"[怒泣哭笑嗔叹惊喜又便就也才忙乃遂复亦却都还只且方则因先再])$"
)

_TITLE_EN = (
    r"(?:Mr|Mrs|Ms|Miss|Dr|Sir|Lady|Lord|Captain|Professor|Aunt|Uncle|Madame|Madam|Inspector|Colonel|"
    r"Father|Mother|St|Old|Young|Little)\.?"
)
_NAME_EN = rf"(?:{_TITLE_EN} )?[A-Z][A-Za-z'’\-]{{1,12}}(?: [A-Z][A-Za-z'’\-]{{1,12}}){{0,2}}(?![A-Za-z])"
_THE_EN = r"(?:[Tt]he|[Mm]y|[Aa]n?) (?:[a-z\-]{1,12} ){0,2}?[a-z\-]{1,12}"
_PRONOUN_EN = r"(?:I|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|[Ii]t|(?:[Hh]is|[Hh]er|[Tt]heir) [a-z\-]+(?: [a-z\-]+)?)"
_VERB_EN = (
    r"(?:said|says|asked|asks|replied|replies|answered|cried|shouted|whispered|murmured|muttered|returned|"
    r"exclaimed|remarked|observed|continued|added|began|inquired|enquired|demanded|called|yelled|screamed|"
    r"sobbed|laughed|sighed|growled|snapped|responded|repeated|agreed|explained|announced|declared|suggested|"
    r"went on|interrupted|protested|pleaded|begged|gasped|breathed|hissed|ejaculated|chuckled|groaned|"
    r"admitted|insisted|told|thought)"
)
_MANNER_EN = r"(?:(?P<manner>[a-z]+ly) )?"
_AFTER_THE = r"[,.;:!?—–\-]| (?:with|as|in|to|and|at|from|after|when|who|again|aloud|quietly)\b|\s*$"
_AFTER_INVERTED = re.compile(rf"^\s*{_VERB_EN} (?P<who>{_PRONOUN_EN}\b|{_NAME_EN}|{_THE_EN}(?={_AFTER_THE}))")
_AFTER_DIRECT = re.compile(rf"^\s*(?P<who>{_PRONOUN_EN}|{_NAME_EN}|{_THE_EN}) {_MANNER_EN}{_VERB_EN}\b")
_BEFORE_DIRECT = re.compile(
    rf"(?<![A-Za-z])(?P<who>{_PRONOUN_EN}|{_NAME_EN}|{_THE_EN}) {_MANNER_EN}{_VERB_EN}"
    r"(?:,? [^.;:!?“”\"]{1,60})?[,:]\s*$"
)
_CLAUSE_END_EN = re.compile(r"[,.;:!?—–]+\s*")
_SENTENCE_START_EN = re.compile(r"(?<=[.!?;])\s+|^\s*")
_NO_NAMES_EN = {
    "Then", "And", "But", "So", "Now", "Suddenly", "When", "Well", "Yes", "No", "Oh", "There", "Here",
    "What", "That", "This", "Somebody", "Someone", "Nobody", "Everybody", "Everyone", "One", "Who", "You",
    "He", "She", "They", "We", "It", "His", "Her", "Their",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attribution:
    """`name` is empty for a pronoun or an unnamed subject.

    Before a quotation `start` is where the words begin; after it `end` is where they end. `pure`
    means that the clause tells nothing but who speaks.
    """

    name: str
    manner: str
    start: int
    pure: bool
    end: int = 0


def repeated_subjects(clauses: Iterable[str]) -> frozenset[str]:
    """Return the names that open several clauses of saying which are not plain enough by themselves.

    孔乙己睁大眼睛说 and 孔乙己很颓唐的仰面答道 have 孔乙己 in common.
    """
    found: set[str] = set()
    for one, other in pairwise(sorted(set(clauses))):
        length = 0
        while length < min(len(one), len(other)) and one[length] == other[length]:
            length += 1
        name = one[: min(length, NAME_ZH_MAX)]
        if len(name) > 1 and length <= NAME_ZH_MAX and _is_name_zh(name):
            found.add(name)
    return frozenset(found)


def clause_of_saying(text: str) -> str:
    """Return the subject and manner of the Chinese clause that leads a quotation, or nothing."""
    bare = text[-WINDOW:].rstrip()
    clause = _last_clause(bare[:-1].rstrip()) if bare.endswith(("：", ":", "，", ",")) else ""
    verb = _ENDS_VERB.search(clause)
    return clause[: verb.start()] if verb and len(clause) <= CLAUSE_MAX else ""


def attribution_before(text: str, *, names: frozenset[str]) -> Attribution | None:
    """Return who is said to speak by the end of this text, or None."""
    tail = text[-WINDOW:]
    shift = len(text) - len(tail)
    english = _BEFORE_DIRECT.search(tail)
    if english:
        start = max(
            (each.end() for each in _SENTENCE_START_EN.finditer(tail, 0, english.start() + 1)), default=0
        )
        start = start if not tail[start : english.start()].strip() else english.start()
        return Attribution(_name_en(english["who"]), english["manner"] or "", shift + start, pure=True)
    bare = tail.rstrip()
    if not bare.endswith(("：", ":", "，", ",")):
        return None
    body = bare[:-1].rstrip()
    clause = _last_clause(body)
    verb = _ENDS_VERB.search(clause)
    if verb is None or len(clause) > CLAUSE_MAX:
        return None
    name, manner = _subject_zh(clause[: verb.start()], names)
    return Attribution(name, manner, shift + len(body) - len(clause), pure=True)


def attribution_after(text: str, *, names: frozenset[str]) -> Attribution | None:
    """Return who is said to have spoken by the start of this text, or None."""
    head = text[:WINDOW]
    english = _AFTER_INVERTED.match(head) or _AFTER_DIRECT.match(head)
    if english:
        return _after_english(head, english)
    clause, end = _first_clause(head)
    verb = _ENDS_VERB.search(clause)
    if verb is None or len(clause) > CLAUSE_MAX or head[len(clause) : len(clause) + 1] in ("：", ":"):
        return None
    name, manner = _subject_zh(clause[: verb.start()], names)
    closes = (
        end >= len(head.rstrip()) or head[end - 1 : end] in "。.！!？?" or head[end : end + 1] in '“「『"‘'
    )
    return Attribution(name, manner, 0, pure=closes, end=end)


def _after_english(head: str, match: re.Match[str]) -> Attribution | None:
    who = match["who"]
    if who.partition(" ")[0] in _NO_NAMES_EN - {"He", "She", "They", "We", "It", "His", "Her", "Their"}:
        return None
    closes = _CLAUSE_END_EN.search(head, match.end())
    end = closes.end() if closes else len(head)
    last = closes.group().strip() if closes else "."
    pure = last[-1] not in ",—–" or head[end : end + 1] in "“\"‘「'" or end >= len(head)
    manner = match.groupdict().get("manner") or ""
    return Attribution(_name_en(who), manner, 0, pure=pure, end=end)


def _name_en(who: str) -> str:
    """Return the name, or nothing for a pronoun; I is the one who tells the story."""
    first = who.partition(" ")[0]
    if who == "I":
        return "I"
    if first in _NO_NAMES_EN or first in ("he", "she", "they", "we", "it", "his", "her", "their"):
        return ""
    return who[0].lower() + who[1:] if first in ("The", "My", "A", "An") else who


def _last_clause(text: str) -> str:
    at = len(text)
    while at > 0 and text[at - 1] not in _BREAK_ZH:
        at -= 1
    return text[at:]


def _first_clause(text: str) -> tuple[str, int]:
    """Return the first clause, and where it ends with its mark."""
    at = 0
    while at < len(text) and text[at] not in _BREAK_ZH:
        at += 1
    return text[:at], min(at + 1, len(text))


def _subject_zh(words: str, names: frozenset[str]) -> tuple[str, str]:
    """Return the subject of a clause without its verb, and how it speaks."""
    lead = _LEAD_ZH.match(words)
    if lead:
        words = words[lead.end() :]
    known = max((each for each in names if len(each) > 1 and words.startswith(each)), key=len, default="")
    if known:
        return known, words[len(known) :]
    if words.startswith(("对", "向", "朝", "冲", "跟")):
        return "", words
    towards = _TOWARDS_ZH.match(words)
    manner = ""
    if towards:
        words, manner = towards["who"], towards["to"]
    adverb = _ADVERBS_ZH.search(words)
    while adverb and words:
        words, manner = words[: adverb.start()], adverb.group() + manner
        adverb = _ADVERBS_ZH.search(words)
    if words == "我":
        return "我", manner
    return (words, manner) if _is_name_zh(words) else ("", manner)


def _is_name_zh(words: str) -> bool:
    plain = 0 < len(words) <= NAME_ZH_MAX and all("\u3400" <= each <= "\u9fff" for each in words)
    return plain and not _PRONOUN_ZH.match(words) and not _FUNCTION_ZH.search(words)
