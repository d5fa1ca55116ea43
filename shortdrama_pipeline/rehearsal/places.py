"""Which picture belongs to a place's name, in Chinese and English."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from shortdrama_pipeline.rehearsal import exteriors, interiors
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
_KINDS: tuple[tuple[Painter, bool, tuple[str, ...]], ...] = (
    (interiors.car, True, ("车内", "车里", "轿车", "车上", "出租车", "car", "taxi", "limousine")),
    (exteriors.rooftop, False, ("天台", "楼顶", "屋顶", "阳台", "露台", "rooftop", "roof", "balcony", "terrace")),
    (interiors.corridor, True, ("走廊", "病房", "医院", "急诊", "手术", "诊", "corridor", "hospital", "clinic", "ward", "hallway")),
    (interiors.study, True, ("书斋", "书房", "闺房", "厢房", "敝庐", "茅屋", "客栈", "禅房", "密室", "study", "scholar", "inn")),
    (exteriors.courtyard, False, ("庭院", "院子", "宫", "府", "寺", "庙", "道观", "祠", "古宅", "青楼", "王府", "courtyard", "temple", "palace", "manor")),
    (interiors.bedroom, True, ("卧室", "房间", "床", "宿舍", "客房", "bedroom", "dorm", "hotel room")),
    (interiors.hall, True, ("宴会", "大厅", "礼堂", "酒店", "婚礼", "教堂", "舞会", "拍卖", "会所", "banquet", "ballroom", "hall", "hotel", "wedding", "gala", "church", "lobby")),
    (interiors.cafe, True, ("咖啡", "餐厅", "饭店", "酒吧", "茶馆", "面馆", "火锅", "店", "cafe", "café", "coffee", "restaurant", "bar", "diner", "bakery", "shop", "kitchen", "store")),
    (interiors.classroom, True, ("教室", "学校", "课堂", "图书馆", "classroom", "school", "library", "lecture")),
    (interiors.office, True, ("办公", "公司", "总裁", "会议", "律所", "集团", "前台", "警局", "派出所", "office", "company", "boardroom", "meeting", "studio", "headquarters", "police station")),
    (interiors.living_room, True, ("客厅", "家", "公寓", "别墅", "住宅", "沙发", "living", "home", "apartment", "house", "flat", "villa")),
    (exteriors.hills, False, ("山", "林", "野", "郊", "公园", "湖", "河", "海", "桥", "田", "坟", "墓", "村", "park", "forest", "mountain", "hill", "lake", "river", "beach", "field", "woods", "grave", "bridge", "village")),
    (exteriors.street, False, ("街", "路", "巷", "门口", "马路", "夜市", "车站", "楼下", "市", "城", "street", "road", "alley", "avenue", "outside", "station", "market", "city", "exterior", "ext.")),
)  # fmt: skip
_RAIN = ("雨", "rain", "storm", "drizzle")
_OLD = ("古", "朝", "民国", "长安", "江湖", "ancient", "dynasty")


def place_of(name: str, *, time_of_day: str = "", context: str = "") -> Place:
    """Decide how a place looks; `context` (action, prompt) may add rain or an age, never another place."""
    words = name.lower()
    painter, indoors = next(
        ((painter, indoors) for painter, indoors, keys in _KINDS if any(each in words for each in keys)),
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
