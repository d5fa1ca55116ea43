"""Which picture belongs to a place's name, in Chinese and English."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from shortdrama_pipeline.rehearsal import exteriors, interiors
from shortdrama_pipeline.rehearsal.descriptions import has
from shortdrama_pipeline.rehearsal.scenery import Hour, Scene, hour_of

Painter = Callable[[Scene], None]


@dataclass(frozen=True, slots=True)
class Place:
    """A place as it is painted. `rain` falls where the words say so and there is a sky."""

    painter: Painter
    hour: Hour
    seed: int
    indoors: bool
    rain: bool


# The first line with a word in the name wins.
_KINDS: tuple[tuple[Painter, bool, str], ...] = (
    (interiors.garage, True, "车库 停车场 地库 仓库 地下室 garage warehouse basement cellar parking"),
    (interiors.car, True, "车内 车里 轿车 车上 出租车 car taxi limousine"),
    (exteriors.rooftop, False, "天台 楼顶 屋顶 阳台 露台 rooftop roof balcony terrace"),
    (exteriors.porch, False, "门廊 门前 家门口 院门 porch doorstep driveway yard garden 花园"),
    (interiors.corridor, True, "病房 医院 急诊 手术 诊所 诊室 hospital clinic ward emergency surgery"),
    (
        interiors.passage,
        True,
        "走廊 过道 楼道 电梯 玄关 楼梯 corridor hallway passage stairs staircase elevator lift",
    ),
    (interiors.study, True, "书斋 书房 闺房 厢房 敝庐 茅屋 客栈 禅房 密室 study scholar inn"),
    (
        exteriors.courtyard,
        False,
        "庭院 院子 宫 府 寺 庙 道观 祠 古宅 青楼 王府 古镇 courtyard temple palace manor",
    ),
    (interiors.bedroom, True, "卧室 房间 床 宿舍 客房 化妆间 更衣室 休息室 bedroom dorm dressing suite"),
    (interiors.kitchen, True, "厨房 灶 kitchen pantry"),
    (
        interiors.hall,
        True,
        "宴会 大厅 礼堂 酒店 婚礼 教堂 舞会 拍卖 会所 banquet ballroom hall hotel wedding gala church lobby chapel",
    ),
    (
        interiors.cafe,
        True,
        "咖啡 餐厅 饭店 酒吧 茶馆 面馆 火锅 店 cafe café coffee restaurant bar diner bakery shop store pub",
    ),
    (interiors.classroom, True, "教室 学校 课堂 图书馆 classroom school library lecture"),
    (
        interiors.office,
        True,
        "办公 公司 总裁 会议 律所 集团 前台 警局 派出所 office company boardroom meeting studio headquarters",
    ),
    (
        interiors.living_room,
        True,
        "客厅 家 公寓 别墅 住宅 沙发 living home apartment house flat villa lounge",
    ),
    (
        exteriors.hills,
        False,
        "山 林 野 郊 公园 湖 河 海 桥 田 坟 墓 村 park forest mountain hill lake river beach field woods grave bridge",
    ),
    (
        exteriors.street,
        False,
        "街 路 巷 门口 马路 夜市 车站 楼下 市 城 street road alley avenue outside station market city square",
    ),
)
_RAIN = ("雨", "rain", "storm", "drizzle")
_OLD = ("古", "朝", "民国", "长安", "江湖", "ancient", "dynasty")


def place_of(name: str, *, time_of_day: str = "", context: str = "") -> Place:
    """Decide how a place looks; `context` (action, prompt) may add rain or an age, never another place."""
    words = name.lower()
    painter, indoors = next(
        ((painter, indoors) for painter, indoors, keys in _KINDS if has(words, keys.split())),
        (interiors.room, True),
    )
    if any(each in words for each in _OLD):
        if painter in (interiors.room, interiors.living_room, interiors.bedroom):
            painter = interiors.study
        elif painter is exteriors.street:
            painter = exteriors.courtyard
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])
    wet = any(each in f"{words} {time_of_day} {context}".lower() for each in _RAIN)
    hour = hour_of(time_of_day) if time_of_day else hour_of(name)
    return Place(painter, hour, seed, indoors, rain=wet and not indoors)


def paint(place: Place, size: tuple[int, int], *, sharp: bool) -> Image.Image:
    """Return the place in RGB."""
    scene = Scene(size, place.hour, seed=place.seed, sharp=sharp)
    place.painter(scene)
    return scene.canvas.finished()
