"""Things: a dozen that short dramas turn on, and a parcel for everything else."""

from collections.abc import Callable, Sequence

from shortdrama_pipeline.rehearsal.canvas import Canvas, Fill, Point, darker, lighter

PAPER = (244, 240, 228)
GOLD = (222, 182, 96)
STEEL = (186, 194, 202)


class Thing:
    """A prop being drawn; coordinates run from -1 to 1 around its middle."""

    def __init__(self, canvas: Canvas, centre: Point, reach: float) -> None:
        self.canvas, self.centre, self.reach = canvas, centre, reach

    def at(self, x: float, y: float) -> Point:
        return self.centre[0] + x * self.reach, self.centre[1] + y * self.reach

    def quad(self, points: Sequence[Point], fill: Fill) -> None:
        self.canvas.polygon([self.at(*each) for each in points], fill)

    def blob(self, points: Sequence[Point], fill: Fill) -> None:
        self.canvas.blob([self.at(*each) for each in points], fill)

    def line(self, points: Sequence[Point], fill: Fill, width: float) -> None:
        self.canvas.line([self.at(*each) for each in points], fill, width * self.reach)

    def box(
        self, left: float, top: float, right: float, bottom: float, fill: Fill, *, radius: float = 0
    ) -> None:
        (x0, y0), (x1, y1) = self.at(left, top), self.at(right, bottom)
        self.canvas.box((x0, y0, x1, y1), fill, radius=radius * self.reach)

    def dot(self, x: float, y: float, across: float, down: float, fill: Fill) -> None:
        self.canvas.ellipse(self.at(x, y), (across * self.reach, down * self.reach), fill)


def phone(thing: Thing) -> None:
    thing.box(-0.46, -0.92, 0.46, 0.92, (28, 30, 36), radius=0.12)
    thing.box(-0.41, -0.80, 0.41, 0.80, (62, 92, 150), radius=0.06)
    thing.box(-0.33, -0.55, 0.20, -0.34, (236, 240, 246), radius=0.06)
    thing.box(-0.14, -0.24, 0.33, -0.02, (128, 214, 140), radius=0.06)
    thing.box(-0.33, 0.08, 0.12, 0.28, (236, 240, 246), radius=0.06)
    thing.box(-0.12, -0.87, 0.12, -0.84, (60, 62, 70), radius=0.02)


def document(thing: Thing) -> None:
    thing.quad([(-0.62, -0.80), (0.50, -0.92), (0.68, 0.80), (-0.46, 0.94)], darker(PAPER, 0.25))
    thing.quad([(-0.70, -0.86), (0.44, -0.94), (0.58, 0.78), (-0.56, 0.90)], PAPER)
    for index in range(9):
        y = -0.56 + index * 0.13
        end = 0.36 if index % 3 else 0.14
        thing.line([(-0.52 + index * 0.012, y), (end + index * 0.012, y - 0.05)], (146, 146, 152), 0.026)
    thing.line([(-0.54, -0.70), (0.08, -0.76)], (70, 70, 82), 0.06)
    thing.dot(0.26, 0.56, 0.17, 0.17, (206, 60, 58))
    thing.dot(0.26, 0.56, 0.12, 0.12, PAPER)
    thing.dot(0.26, 0.56, 0.05, 0.05, (206, 60, 58))
    thing.line([(-0.38, 0.66), (-0.26, 0.54), (-0.18, 0.68), (-0.05, 0.56)], (40, 52, 110), 0.03)


def ring(thing: Thing) -> None:
    for width, colour in ((0.17, darker(GOLD, 0.35)), (0.12, GOLD)):
        points = [(0.5 * x, 0.22 + 0.5 * y) for x, y in _circle()]
        thing.line([*points, points[0]], colour, width)
    thing.quad([(-0.24, -0.42), (-0.12, -0.62), (0.12, -0.62), (0.24, -0.42), (0, -0.16)], (206, 232, 246))
    thing.quad([(-0.24, -0.42), (0, -0.42), (0, -0.16)], (160, 204, 232))
    thing.quad([(0, -0.62), (0.12, -0.62), (0.1, -0.42), (-0.1, -0.42)], (246, 252, 255))


def blade(thing: Thing) -> None:
    thing.quad([(-0.10, 0.28), (0.10, 0.28), (0.12, -0.70), (0.0, -0.98), (-0.08, -0.70)], STEEL)
    thing.quad([(0.02, 0.28), (0.10, 0.28), (0.12, -0.70), (0.0, -0.98)], lighter(STEEL, 0.5))
    thing.box(-0.28, 0.26, 0.28, 0.36, GOLD, radius=0.04)
    thing.box(-0.09, 0.36, 0.09, 0.86, (84, 48, 42), radius=0.05)
    for index in range(5):
        thing.line([(-0.09, 0.44 + index * 0.09), (0.09, 0.40 + index * 0.09)], (52, 28, 28), 0.025)


def cup(thing: Thing) -> None:
    thing.dot(0.02, 0.60, 0.82, 0.17, darker((226, 222, 214), 0.15))
    thing.dot(0.02, 0.57, 0.80, 0.16, (236, 232, 226))
    handle = [(0.46, -0.18), (0.78, -0.16), (0.76, 0.22), (0.40, 0.30)]
    thing.line(handle, (236, 232, 226), 0.10)
    thing.blob(
        [(-0.52, -0.34), (0.52, -0.34), (0.50, 0.16), (0.30, 0.52), (-0.30, 0.52), (-0.50, 0.16)],
        (246, 243, 238),
    )
    thing.dot(0, -0.34, 0.52, 0.13, (252, 250, 246))
    thing.dot(0, -0.33, 0.45, 0.10, (96, 60, 42))
    for x in (-0.16, 0.10):
        thing.line(
            [(x, -0.52), (x + 0.08, -0.66), (x - 0.04, -0.80), (x + 0.06, -0.94)], (230, 230, 236), 0.035
        )


def flowers(thing: Thing) -> None:
    for x, y in ((-0.3, -0.3), (0.0, -0.5), (0.32, -0.28), (-0.1, -0.1), (0.2, -0.02)):
        thing.line([(x, y), (x * 0.3, 0.6)], (82, 126, 88), 0.04)
    for index, (x, y) in enumerate(
        ((-0.36, -0.36), (0.0, -0.60), (0.38, -0.34), (-0.14, -0.14), (0.20, -0.10))
    ):
        tone = ((206, 62, 84), (236, 150, 160), (196, 48, 70), (240, 196, 186), (214, 84, 104))[index]
        for dx, dy in _circle():
            thing.dot(x + dx * 0.12, y + dy * 0.12, 0.12, 0.12, darker(tone, 0.08))
        thing.dot(x, y, 0.15, 0.15, tone)
        thing.dot(x, y, 0.06, 0.06, lighter(tone, 0.4))
    thing.quad([(-0.42, 0.10), (0.42, 0.10), (0.14, 0.90), (-0.14, 0.90)], (232, 222, 208))
    thing.quad([(0.0, 0.10), (0.42, 0.10), (0.14, 0.90)], (214, 200, 184))
    thing.box(-0.20, 0.52, 0.20, 0.60, (190, 70, 84), radius=0.03)


def key(thing: Thing) -> None:
    points = [(0.30 * x, -0.5 + 0.30 * y) for x, y in _circle()]
    thing.line([*points, points[0]], GOLD, 0.13)
    thing.box(-0.06, -0.22, 0.06, 0.86, GOLD, radius=0.03)
    for y in (0.50, 0.70):
        thing.box(0.05, y, 0.30, y + 0.11, GOLD, radius=0.02)
    thing.line([(-0.03, -0.2), (-0.03, 0.8)], lighter(GOLD, 0.5), 0.02)


def photo(thing: Thing) -> None:
    thing.quad([(-0.70, -0.72), (0.62, -0.86), (0.74, 0.72), (-0.58, 0.88)], (250, 248, 242))
    thing.quad([(-0.60, -0.62), (0.54, -0.74), (0.62, 0.36), (-0.52, 0.48)], (150, 178, 196))
    thing.quad([(-0.56, 0.02), (0.0, -0.20), (0.58, 0.06), (0.62, 0.36), (-0.52, 0.48)], (108, 136, 112))
    for x, tone in ((-0.16, (70, 52, 60)), (0.18, (52, 62, 92))):
        thing.dot(x, -0.18, 0.10, 0.12, (236, 200, 172))
        thing.dot(x, -0.24, 0.11, 0.09, (36, 30, 34))
        thing.blob([(x - 0.18, 0.34), (x - 0.12, 0.0), (x + 0.12, 0.0), (x + 0.18, 0.32)], tone)


def bottle(thing: Thing) -> None:
    thing.box(-0.34, -0.30, 0.34, 0.90, (226, 232, 236), radius=0.10)
    thing.box(-0.38, -0.62, 0.38, -0.28, (70, 120, 168), radius=0.06)
    thing.box(-0.34, 0.0, 0.34, 0.56, (250, 250, 248))
    thing.box(-0.06, 0.08, 0.06, 0.48, (206, 60, 62))
    thing.box(-0.20, 0.22, 0.20, 0.34, (206, 60, 62))
    for x, y in ((-0.62, 0.80), (0.56, 0.84), (0.68, 0.70)):
        thing.dot(x, y, 0.10, 0.07, (246, 240, 232))


def cards(thing: Thing) -> None:
    thing.quad([(-0.86, -0.30), (0.50, -0.56), (0.72, 0.24), (-0.62, 0.52)], (40, 44, 58))
    thing.quad([(-0.70, -0.18), (0.66, -0.44), (0.88, 0.36), (-0.46, 0.64)], (176, 142, 78))
    thing.quad([(-0.48, -0.02), (-0.22, -0.07), (-0.18, 0.12), (-0.43, 0.17)], (236, 216, 160))
    thing.line([(-0.34, 0.34), (0.58, 0.16)], (250, 240, 214), 0.05)


def umbrella(thing: Thing) -> None:
    thing.line([(0, -0.5), (0, 0.74), (0.10, 0.86), (0.22, 0.76)], (66, 50, 46), 0.05)
    for left, right, tone in ((-0.90, -0.30, 0.25), (-0.30, 0.30, 0.0), (0.30, 0.90, 0.15)):
        red = darker((186, 54, 62), tone)
        thing.quad(
            [
                (0, -0.86),
                (left * 0.7, -0.60),
                (left, -0.06),
                ((left + right) / 2, -0.14),
                (right, -0.06),
                (right * 0.7, -0.60),
            ],
            red,
        )


def lamp(thing: Thing) -> None:
    thing.line([(0, -0.94), (0, -0.66)], (70, 50, 42), 0.04)
    thing.dot(0, 0.0, 0.58, 0.62, (206, 56, 50))
    for x in (-0.30, 0.0, 0.30):
        thing.line([(x * 0.5, -0.60), (x, 0.0), (x * 0.5, 0.60)], (170, 36, 38), 0.025)
    thing.box(-0.26, -0.70, 0.26, -0.58, GOLD)
    thing.box(-0.26, 0.58, 0.26, 0.70, GOLD)
    thing.line([(0, 0.70), (0, 0.98)], (216, 170, 80), 0.05)


def parcel(thing: Thing) -> None:
    thing.quad([(-0.72, -0.28), (0.0, -0.08), (0.0, 0.86), (-0.72, 0.60)], (172, 132, 92))
    thing.quad([(0.72, -0.28), (0.0, -0.08), (0.0, 0.86), (0.72, 0.60)], (146, 108, 74))
    thing.quad([(-0.72, -0.28), (0.0, -0.52), (0.72, -0.28), (0.0, -0.08)], (196, 158, 116))
    thing.quad([(-0.42, -0.38), (-0.28, -0.43), (0.44, -0.20), (0.30, -0.15)], (206, 72, 76))
    thing.quad([(0.30, -0.15), (0.44, -0.20), (0.44, 0.70), (0.30, 0.75)], (176, 56, 62))


def _circle() -> list[Point]:
    return [
        (1, 0),
        (0.707, 0.707),
        (0, 1),
        (-0.707, 0.707),
        (-1, 0),
        (-0.707, -0.707),
        (0, -1),
        (0.707, -0.707),
    ]


_KINDS: tuple[tuple[Callable[[Thing], None], tuple[str, ...]], ...] = (
    (phone, ("手机", "电话", "短信", "phone", "mobile", "message")),
    (photo, ("照片", "相片", "合影", "画像", "photo", "picture", "portrait")),
    (ring, ("戒", "钻", "项链", "手镯", "首饰", "ring", "diamond", "necklace", "bracelet", "jewel")),
    (bottle, ("药", "病历", "针", "毒", "medicine", "pill", "drug", "poison", "bottle")),
    (cards, ("卡", "支票", "钱", "现金", "card", "cheque", "check", "money", "cash", "wallet")),
    (document, ("合同", "协议", "文件", "信", "书", "报告", "遗嘱", "纸", "证", "画", "图纸", "contract", "letter", "paper", "report", "document", "will", "note", "book", "file", "blueprint")),
    (blade, ("刀", "剑", "匕首", "剪", "knife", "sword", "dagger", "blade")),
    (flowers, ("花", "玫瑰", "flower", "rose", "bouquet")),
    (key, ("钥匙", "锁", "key", "lock")),
    (cup, ("杯", "咖啡", "茶", "酒", "碗", "汤", "cup", "coffee", "tea", "wine", "glass", "mug")),
    (umbrella, ("伞", "umbrella")),
    (lamp, ("灯", "烛", "lantern", "lamp", "candle")),
)  # fmt: skip


def draw_prop(canvas: Canvas, name: str, *, centre: Point, reach: float) -> None:
    """Draw the thing a name means, `reach` pixels to each side."""
    words = name.lower()
    painter = next((painter for painter, keys in _KINDS if any(each in words for each in keys)), parcel)
    painter(Thing(canvas, centre, reach))
