"""Who somebody is to the eye: a look from name, description and seed, the same in every picture."""

import hashlib
import random
from dataclasses import asdict, dataclass

from shortdrama_pipeline.rehearsal.book import Json


def _words(*lines: str) -> tuple[str, ...]:
    return tuple(" ".join(lines).split())


_OLD = _words(
    "老人 老太 老头 老爷 老婆婆 奶奶 爷爷 外婆 外公 婆婆 祖 白发 年迈 花甲 elder old elderly grandma grandpa aged"
)
_CHILD = _words("孩 童 小学 幼 宝宝 child kid boy girl toddler")
_MIDDLE = _words("中年 母亲 父亲 妈 爸 董事 叔 姨 院长 校长 太太 middle mother father director uncle aunt")
_FEMALE = _words(
    "女 她 妻 母 妈 姐 妹 娘 妃 婆 奶 姑 嫂 小姐 夫人 太太 闺 姬 妾 woman female she her girl wife mother",
    "sister bride lady queen daughter aunt actress waitress grandma ms. mrs.",
)
_MALE = _words(
    "男 他 父 爸 兄 弟 叔 爷 公子 先生 丈夫 新郎 汉 书生 man male he him his boy husband father brother groom",
    "king son uncle guy grandpa mr.",
)
_FEMALE_NAMES = "芳娜婷雪月晚薇莉娟丽静燕玲珊琳瑶婉婕柔妍蓉萍梅兰菊霞倩淑媛慧英清欣怡嫣妮蕾诗梦曼雅柳念"
_FEMALE_GIVEN = _words(
    "anna emma mia lily grace chloe sarah lucy claire nora ivy ella sophie maya rose alice jane"
)
_ANCIENT = _words(
    "古代 朝 侠 道士 皇 妃 公子 书生 丫鬟 将军 剑客 长袍 王爷 hanfu ancient dynasty taoist swordsman emperor"
)
_COSTUMES = {
    "coat": _words("医 护士 教授 doctor nurse surgeon scientist"),
    "suit": _words(
        "总裁 董事 律师 经理 西装 秘书 老板 主管 ceo boss lawyer manager suit executive banker agent"
    ),
    "uniform": _words("警 军人 保安 police officer soldier guard pilot"),
    "hoodie": _words("学生 快递 骑手 外卖 少年 程序员 student courier rider teen gamer programmer skater"),
    "dress": _words("新娘 礼服 舞 婚纱 明星 千金 bride dress gown dancer star heiress singer"),
    "apron": _words("厨 服务员 店员 咖啡师 保姆 chef waiter waitress barista cook housekeeper baker"),
}
_SKINS = ("#f3d3b8", "#ecc4a2", "#e2b48d", "#f6dcc8", "#d9a57c")
_HAIRS = ("#1d1a1f", "#2b2024", "#3a2723", "#191c26", "#4a2f25")
_CLOTHES = (
    "#7a2f3b", "#27496d", "#2f5d50", "#6b4a7d", "#b0563a", "#3f4657", "#8a6d3b", "#a8434f",
    "#35677a", "#54663a", "#8c5a6e", "#c08a4a",
)  # fmt: skip
_FEMALE_HAIR = ("long", "bob", "ponytail", "bun", "wavy", "long_fringe")
_MALE_HAIR = ("short", "side", "swept", "crop", "curtain")


@dataclass(frozen=True, slots=True)
class Look:
    """Everything a portrait fixes. Colours are #rrggbb; `face` and `build` are percent of average."""

    name: str
    female: bool
    age: str  # child, young, middle, old
    skin: str
    hair: str
    hair_style: str
    costume: str
    clothes: str
    accent: str
    eyes: str
    face: int
    build: int
    glasses: bool
    beard: bool
    jewel: bool
    fringe: int


def look_of(name: str, description: str = "", seed: int = 0) -> Look:
    """Decide a look; what the description says wins over chance."""
    digest = hashlib.sha256(f"{name}|{seed}".encode()).digest()
    chance = random.Random(int.from_bytes(digest[:8]))  # noqa: S311 - a look, not a secret
    words = f"{name} {description}".lower()
    female = _is_female(name, words, chance)
    age = _age(words)
    costume = _costume(words, female=female, chance=chance)
    if age in ("old", "child") and costume == "dress":
        costume = "cardigan"
    clothes = chance.choice(_CLOTHES)
    if costume == "coat":
        clothes = "#e8eef0"
    elif costume == "uniform":
        clothes = "#27364f"
    elif costume == "suit" and not female:
        clothes = chance.choice(("#262c3a", "#33343d", "#3b2f36", "#24384a"))
    hair = chance.choice(("#b9b6b8", "#d6d3d2", "#8f8d92")) if age == "old" else chance.choice(_HAIRS)
    styles = _FEMALE_HAIR if female else _MALE_HAIR
    style = chance.choice(styles)
    if costume == "robe":
        style = "topknot" if not female else chance.choice(("palace", "long"))
    if age == "old":
        style = "bun" if female else "thin"
    if age == "child":
        style = "twin" if female else "crop"
    return Look(
        name=name,
        female=female,
        age=age,
        skin=chance.choice(_SKINS),
        hair=hair,
        hair_style=style,
        costume=costume,
        clothes=clothes,
        accent=chance.choice([each for each in _CLOTHES if each != clothes]),
        eyes=chance.choice(("#3b2a22", "#2a2320", "#49352a", "#26303a")),
        face=chance.randint(93, 106),
        build=chance.randint(94, 106) - (8 if female else 0),
        glasses="眼镜" in words or "glasses" in words or (age != "child" and chance.random() < 0.14),
        beard=not female and age in ("middle", "old") and chance.random() < (0.6 if age == "old" else 0.25),
        jewel=female and age != "child" and chance.random() < 0.6,
        fringe=chance.randint(0, 100),
    )


def to_json(look: Look) -> Json:
    return asdict(look)


def from_json(known: Json) -> Look:
    """Read back what `to_json` wrote into a reference picture."""
    return Look(**known)  # type: ignore[arg-type]


def _has(words: str, keys: tuple[str, ...]) -> bool:
    return _first(words, keys) is not None


def _first(words: str, keys: tuple[str, ...]) -> int | None:
    """Return where a key first stands: Chinese anywhere, English only as a whole word."""
    spaced = "".join(each if each.isalnum() or each == "." else " " for each in f" {words} ")
    places = [spaced.find(f" {key} " if key.isascii() else key) for key in keys]
    return min((each for each in places if each >= 0), default=None)


def _is_female(name: str, words: str, chance: random.Random) -> bool:
    female, male = _first(words, _FEMALE), _first(words, _MALE)
    if female is not None and male is not None:
        return female < male
    if female is not None or male is not None:
        return female is not None
    if any(each in _FEMALE_NAMES for each in name[-2:]) or _has(words, _FEMALE_GIVEN):
        return True
    return chance.random() < 0.4


def _age(words: str) -> str:
    for age, keys in (("old", _OLD), ("child", _CHILD), ("middle", _MIDDLE)):
        if _has(words, keys):
            return age
    return "young"


def _costume(words: str, *, female: bool, chance: random.Random) -> str:
    if _has(words, _ANCIENT):
        return "robe"
    for costume, keys in _COSTUMES.items():
        if _has(words, keys):
            return costume
    return chance.choice(("blouse", "dress", "cardigan") if female else ("shirt", "jacket", "sweater"))
