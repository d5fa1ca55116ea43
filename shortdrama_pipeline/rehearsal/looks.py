"""Who somebody is to the eye: a look from name, description and seed, the same in every picture."""

import hashlib
import random
from dataclasses import asdict, dataclass

from shortdrama_pipeline.rehearsal.book import Json
from shortdrama_pipeline.rehearsal.descriptions import (
    colour,
    first_of,
    hair_colour,
    has,
    place_of_first,
    years,
)


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
# What somebody is said to wear comes before what their trade wears.
_GARMENTS = (
    ("dress", _words("婚纱 连衣裙 裙 礼裙 旗袍 dress gown skirt")),
    ("coat", _words("白大褂 手术服 lab scrubs")),
    ("suit", _words("西装 礼服 西服 suit tuxedo blazer")),
    ("cardigan", _words("开衫 毛衣外套 cardigan")),
    ("sweater", _words("毛衣 针织 sweater jumper pullover")),
    ("hoodie", _words("卫衣 连帽衫 帽衫 hoodie")),
    ("jacket", _words("大衣 风衣 夹克 外套 工装 皮衣 羽绒服 coat jacket overalls parka")),
    ("uniform", _words("制服 警服 军装 uniform")),
    ("robe", _words("长袍 道袍 青衫 汉服 袈裟 广袖 robe hanfu")),
    ("shirt", _words("衬衫 衬衣 shirt")),
    ("apron", _words("围裙 apron")),
)
_TRADES = (
    ("coat", _words("医生 医师 护士 教授 doctor nurse surgeon scientist")),
    (
        "suit",
        _words(
            "总裁 董事 律师 经理 秘书 老板 主管 新郎 ceo boss lawyer manager executive banker agent groom"
        ),
    ),
    ("uniform", _words("警 军人 保安 police officer soldier guard pilot")),
    ("hoodie", _words("学生 骑手 外卖 少年 程序员 student courier rider teen gamer programmer skater")),
    ("jacket", _words("快递 司机 工人 记者 侦探 driver worker reporter detective mechanic")),
    ("dress", _words("新娘 舞 明星 千金 bride dancer star heiress singer")),
    ("apron", _words("厨 服务员 店员 咖啡师 保姆 chef waiter waitress barista cook housekeeper baker")),
)
_SHORT_HAIR, _LONG_HAIR = _words("短发 齐耳 bob"), _words("长发 披肩 长卷发 long")
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
    costume = _costume(words, description, female=female, age=age, chance=chance)
    clothes = _clothes(costume, description, female=female, chance=chance)
    greying = chance.choice(("#b9b6b8", "#d6d3d2", "#8f8d92"))
    hair = hair_colour(description) or (greying if age == "old" else chance.choice(_HAIRS))
    style = _hair_style(words, costume, female=female, age=age, chance=chance)
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


def _is_female(name: str, words: str, chance: random.Random) -> bool:
    female, male = place_of_first(words, _FEMALE), place_of_first(words, _MALE)
    if female is not None and male is not None:
        return female < male
    if female is not None or male is not None:
        return female is not None
    if any(each in _FEMALE_NAMES for each in name[-2:]) or has(words, _FEMALE_GIVEN):
        return True
    return chance.random() < 0.4


def _age(words: str) -> str:
    """A number decides; without one, what somebody is called."""
    count = years(words)
    if count is not None:
        return "child" if count < 13 else "young" if count < 42 else "middle" if count < 58 else "old"
    for age, keys in (("old", _OLD), ("child", _CHILD), ("middle", _MIDDLE)):
        if has(words, keys):
            return age
    return "young"


def _costume(words: str, description: str, *, female: bool, age: str, chance: random.Random) -> str:
    worn = first_of(description, _GARMENTS)
    drawn = chance.choice(("blouse", "dress", "cardigan") if female else ("shirt", "jacket", "sweater"))
    if worn is not None:
        return worn
    if has(words, _ANCIENT):
        return "robe"
    costume = first_of(words, _TRADES) or drawn
    return "cardigan" if age in ("old", "child") and costume == "dress" else costume


def _clothes(costume: str, description: str, *, female: bool, chance: random.Random) -> str:
    drawn = chance.choice(_CLOTHES)
    dark = chance.choice(("#262c3a", "#33343d", "#3b2f36", "#24384a"))
    if costume == "coat":
        return "#e8eef0"
    named = colour(description)
    if named is not None:
        return named
    if costume == "uniform":
        return "#27364f"
    return dark if costume == "suit" and not female else drawn


def _hair_style(words: str, costume: str, *, female: bool, age: str, chance: random.Random) -> str:
    drawn = chance.choice(_FEMALE_HAIR if female else _MALE_HAIR)
    if costume == "robe":
        return chance.choice(("palace", "long")) if female else "topknot"
    if age == "old":
        return "bun" if female else "thin"
    if age == "child":
        return "twin" if female else "crop"
    if female and has(words, _SHORT_HAIR):
        return "bob"
    if female and has(words, _LONG_HAIR) and drawn in ("bob", "bun", "ponytail"):
        return "long"
    return drawn
