"""People: a stylised figure from its look, at any size, turned and lit to suit the picture.

Local coordinates are in head heights, the head's middle at (0, 0), x towards where the figure faces.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shortdrama_pipeline.rehearsal.canvas import (
    Canvas,
    Colour,
    Fill,
    Point,
    curve,
    darker,
    hexadecimal,
    lighter,
    mix,
)
from shortdrama_pipeline.rehearsal.clothes import dress
from shortdrama_pipeline.rehearsal.looks import Look

WHITE: Colour = (244, 242, 238)
NECK = 0.70  # head heights below the head's middle
CHILD_BODY = 0.72  # how long a child's body is, of a grown-up's
FEET = 6.86


def height_of(look: Look) -> float:
    """Return how far the feet are below the head's middle, in head heights."""
    return NECK + (FEET - NECK) * CHILD_BODY if look.age == "child" else FEET


@dataclass(frozen=True, slots=True)
class Pose:
    """How a figure stands: `facing` -1 or 1, `turn` 0 (frontal) to 1, light from `light` (-1 or 1)."""

    facing: int = 1
    turn: float = 0.5
    light: int = 1
    mood: str = "calm"
    speaking: bool = False
    arms: str = "down"  # down, gesture, folded


class Figure:
    """One person being drawn. `unit` is the height of the head in pixels."""

    def __init__(self, canvas: Canvas, look: Look, pose: Pose, *, head: Point, unit: float) -> None:
        self.canvas = canvas
        self.look = look
        self.pose = pose
        self.unit = unit
        self._head = head
        self.skin = hexadecimal(look.skin)
        self.hair = hexadecimal(look.hair)
        self.clothes = hexadecimal(look.clothes)
        self.accent = hexadecimal(look.accent)
        self.width = look.face / 100 * (0.96 if look.female else 1.0)
        self.build = look.build / 100 * (0.78 if look.age == "child" else 1.0)
        # The side away from the light, in local coordinates.
        self.shade_side = -pose.light * pose.facing

    def at(self, x: float, y: float) -> Point:
        if self.look.age == "child" and y > NECK:
            y = NECK + (y - NECK) * CHILD_BODY
        return self._head[0] + x * self.unit * self.pose.facing, self._head[1] + y * self.unit

    def path(self, points: Sequence[Point]) -> list[Point]:
        return [self.at(x, y) for x, y in points]

    def blob(self, points: Sequence[Point], fill: Fill) -> None:
        self.canvas.blob(self.path(points), fill)

    def shape(self, points: Sequence[Point], fill: Fill) -> None:
        self.canvas.polygon(self.path(points), fill)

    def line(self, points: Sequence[Point], fill: Fill, width: float) -> None:
        self.canvas.line(self.path(points), fill, max(0.6, width * self.unit))

    def dot(self, centre: Point, radii: Point, fill: Fill) -> None:
        self.canvas.ellipse(self.at(*centre), (radii[0] * self.unit, radii[1] * self.unit), fill)

    def clipped(self, clip: Sequence[Point], points: Sequence[Point], fill: Fill) -> None:
        self.canvas.clipped(curve(self.path(clip)), self.path(points), fill)

    def draw(self) -> None:
        self._hair_behind()
        self._neck()
        dress(self)
        self._head_shape()
        self._face()
        self._hair_before()
        self._extras()

    # --- head -------------------------------------------------------------------------------------

    @property
    def _outline(self) -> list[Point]:
        """The face, clockwise from the crown; the chin leans where the head turns."""
        lean = self.pose.turn * 0.05
        jaw = 0.30 if self.look.female else 0.335
        chin = 0.10 if self.look.female else 0.15
        cheek = 0.375 if self.look.age != "child" else 0.40
        right = [(0.0, -0.50), (0.25, -0.45), (0.37, -0.24), (cheek, 0.02), (jaw + 0.03, 0.24)]
        right += [(jaw - 0.09 + lean, 0.40), (chin + lean, 0.49)]
        left = [(-chin + lean, 0.49), (-jaw + 0.09 + lean, 0.40), (-jaw - 0.03, 0.24), (-cheek, 0.02)]
        left += [(-0.37, -0.24), (-0.25, -0.45)]
        return [(x * self.width, y) for x, y in (*right, (lean, 0.508), *left)]

    def _neck(self) -> None:
        shadow = darker(self.skin, 0.30)
        turn = self.pose.turn
        self.blob(
            [(-0.15, 0.3), (0.17, 0.3), (0.18, 0.62), (0.26, 0.76), (-0.26, 0.76), (-0.17, 0.62)], self.skin
        )
        self.shape(
            [(-0.17, 0.30), (0.2, 0.30), (0.16, 0.52), (0.02 + turn * 0.05, 0.60), (-0.15, 0.53)], shadow
        )

    def _head_shape(self) -> None:
        shadow = darker(self.skin, 0.30)
        turn = self.pose.turn
        ear = -0.385 * self.width
        for side in (ear + turn * 0.02, -ear + turn * 0.02) if turn < 0.45 else (ear + turn * 0.05,):
            self.dot((side, 0.06), (0.055, 0.10), darker(self.skin, 0.10))
            self.dot((side, 0.06), (0.028, 0.06), darker(self.skin, 0.28))
        self.blob(self._outline, self.skin)
        side = self.shade_side
        edge = 0.20 if side < 0 else 0.30
        cover = [(side * edge, -0.6), (side * (edge - 0.02), -0.1), (side * (edge + 0.03), 0.12)]
        cover += [
            (side * (edge - 0.10), 0.30),
            (side * (edge - 0.16), 0.6),
            (side * 0.9, 0.6),
            (side * 0.9, -0.6),
        ]
        self.clipped(self._outline, cover, (*shadow, 150))
        if self.look.female or self.look.age == "child":
            blush = (*mix(self.skin, (226, 96, 92), 0.6), 60)
            for x in (-0.22, 0.26):
                self.clipped(self._outline, curve(_ring((x + turn * 0.06, 0.18), 0.075, 0.045)), blush)

    # --- face -------------------------------------------------------------------------------------

    def _face(self) -> None:
        shift = self.pose.turn * 0.085
        spread = 0.168 * self.width
        for side in (-1, 1):
            # The far eye is a little narrower, which is what turns a head.
            narrow = 1 - 0.22 * self.pose.turn * (1 if side > 0 else 0)
            self._eye((side * spread + shift, 0.045), side=side, narrow=narrow)
        self._nose(shift)
        self._mouth(shift * 1.1)

    def _eye(self, centre: Point, *, side: int, narrow: float) -> None:
        x, y = centre
        wide = (0.092 if self.look.female else 0.085) * narrow * (1.1 if self.look.age == "child" else 1)
        mood = self.pose.mood
        high = {"shocked": 0.066, "angry": 0.038, "happy": 0.036, "sad": 0.040}.get(mood, 0.046)
        high *= 1.15 if self.look.female else 1.0
        lid = darker(self.hair, 0.3)
        tilt = 0.012 if self.look.female else 0.004
        white = [
            (x - wide * side, y + 0.012),
            (x - 0.4 * wide * side, y - high),
            (x + 0.45 * wide * side, y - high),
        ]
        white += [(x + wide * side, y - tilt), (x + 0.4 * wide * side, y + 0.75 * high)]
        white += [(x - 0.5 * wide * side, y + 0.75 * high)]
        if self.unit > 70:
            self.blob(white, WHITE)
            gaze = x + self.pose.turn * 0.022
            iris = curve(self.path(_ring((gaze, y - 0.002), 0.047, 0.05)))
            self.canvas.clipped(curve(self.path(white)), iris, hexadecimal(self.look.eyes))
            pupil = curve(self.path(_ring((gaze, y - 0.002), 0.024, 0.026)))
            self.canvas.clipped(curve(self.path(white)), pupil, (14, 12, 14))
            light = self.pose.light * self.pose.facing * 0.016
            self.dot((gaze + light, y - 0.018), (0.012, 0.013), (255, 255, 255))
        else:
            self.dot((x, y), (0.045, 0.042), lid)
        thick = 0.026 if self.look.female else 0.020
        upper = [
            (x - wide * side, y + 0.010),
            (x - 0.4 * wide * side, y - high),
            (x + 0.45 * wide * side, y - high),
        ]
        upper += [(x + (wide + 0.012) * side, y - tilt - (0.012 if self.look.female else 0))]
        self.line(upper, lid, thick)
        fold = [(px, py - 0.030) for px, py in upper[1:]]
        self.line(fold, (*darker(self.skin, 0.38), 130), 0.010)
        if self.look.age in ("old", "middle") and self.unit > 90:
            bag = [(x - 0.06, y + 0.075), (x, y + 0.088), (x + 0.06, y + 0.072)]
            self.line(bag, (*darker(self.skin, 0.35), 110), 0.010)
        if mood == "sad" and self.unit > 120 and side * self.shade_side < 0:
            drop = [(x + 0.02, y + 0.07), (x + 0.034, y + 0.16), (x + 0.02, y + 0.185), (x + 0.006, y + 0.16)]
            self.blob(drop, (222, 238, 250, 190))
            self.line([(x + 0.015, y + 0.05), (x + 0.02, y + 0.10)], (222, 238, 250, 130), 0.012)
        self._brow(x, y, side=side, wide=wide)

    def _brow(self, x: float, y: float, *, side: int, wide: float) -> None:
        inner, outer = {
            "angry": (-0.095, -0.155),
            "sad": (-0.165, -0.110),
            "shocked": (-0.175, -0.160),
            "happy": (-0.130, -0.130),
        }.get(self.pose.mood, (-0.122, -0.128))
        thick = 0.024 if self.look.female else 0.036
        points = [
            (x - (wide + 0.01) * side, y + inner),
            (x + 0.2 * wide * side, y + (inner + outer) / 2 - 0.018),
        ]
        points += [(x + (wide + 0.03) * side, y + outer + 0.016)]
        self.line(points, mix(self.hair, self.skin, 0.12), thick)

    def _nose(self, shift: float) -> None:
        shadow = darker(self.skin, 0.34)
        tip = shift * 1.55
        side = self.shade_side
        bridge = [(tip * 0.7 + side * 0.025, 0.04), (tip + side * 0.045, 0.17), (tip + side * 0.052, 0.205)]
        bridge += [(tip, 0.222), (tip - side * 0.01, 0.17)]
        self.shape(bridge, (*shadow, 120))
        self.line(
            [(tip - 0.045, 0.208), (tip, 0.226), (tip + 0.045, 0.208)], (*darker(self.skin, 0.45), 190), 0.012
        )

    def _mouth(self, shift: float) -> None:
        mood, y = self.pose.mood, 0.335
        lips = mix(self.skin, (176, 52, 62), 0.62 if self.look.female else 0.30)
        line = darker(lips, 0.45)
        wide = 0.115 if self.look.female else 0.125
        bend = {"happy": -0.028, "sad": 0.022, "angry": 0.014}.get(mood, -0.004)
        if self.pose.speaking or mood == "shocked":
            deep = 0.052 if mood in ("angry", "shocked") else 0.036
            opened = [
                (shift - wide * 0.85, y + bend * 0.6),
                (shift - 0.03, y - 0.022),
                (shift + 0.03, y - 0.022),
            ]
            opened += [
                (shift + wide * 0.85, y + bend * 0.6),
                (shift + 0.05, y + deep),
                (shift - 0.05, y + deep),
            ]
            self.blob([(px, py + (0.010 if py > y else -0.012)) for px, py in opened], lips)
            self.blob(opened, (70, 24, 30))
            teeth = [
                (shift - wide, y - 0.03),
                (shift + wide, y - 0.03),
                (shift + wide, y + 0.004),
                (shift - wide, y + 0.004),
            ]
            self.clipped(opened, teeth, (240, 236, 230))
            return
        upper = [
            (shift - wide, y + bend),
            (shift - 0.035, y - 0.026),
            (shift, y - 0.018),
            (shift + 0.035, y - 0.026),
        ]
        upper += [(shift + wide, y + bend), (shift, y + 0.006)]
        lower = [
            (shift - wide * 0.8, y + bend * 0.7),
            (shift, y + 0.006),
            (shift + wide * 0.8, y + bend * 0.7),
        ]
        lower += [(shift + 0.04, y + 0.044), (shift - 0.04, y + 0.044)]
        self.blob(lower, lighter(lips, 0.10))
        self.blob(upper, lips)
        self.line([(shift - wide, y + bend), (shift, y + 0.004), (shift + wide, y + bend)], line, 0.012)

    # --- hair -------------------------------------------------------------------------------------

    def _hair_behind(self) -> None:
        style, width = self.look.hair_style, self.width
        shade = darker(self.hair, 0.25)
        if style in ("long", "long_fringe", "palace"):
            self.blob(
                _mirror(
                    [(0, -0.62), (0.34, -0.54), (0.50, -0.18), (0.53, 0.45), (0.58, 1.05), (0.36, 1.32)],
                    width,
                ),
                shade,
            )
        elif style == "wavy":
            points = [
                (0, -0.64),
                (0.38, -0.55),
                (0.54, -0.2),
                (0.50, 0.12),
                (0.62, 0.42),
                (0.54, 0.75),
                (0.64, 1.05),
                (0.34, 1.2),
            ]
            self.blob(_mirror(points, width), shade)
        elif style == "bob":
            self.blob(
                _mirror(
                    [(0, -0.62), (0.36, -0.54), (0.51, -0.15), (0.53, 0.25), (0.46, 0.56), (0.2, 0.5)], width
                ),
                shade,
            )
        elif style == "ponytail":
            tail = [
                (-0.28, -0.42),
                (-0.52, -0.46),
                (-0.72, -0.05),
                (-0.66, 0.55),
                (-0.50, 0.95),
                (-0.52, 0.40),
                (-0.40, -0.05),
            ]
            self.blob(tail, shade)
        elif style == "twin":
            for side in (-1, 1):
                self.blob(
                    [
                        (side * 0.36, -0.2),
                        (side * 0.62, -0.22),
                        (side * 0.68, 0.25),
                        (side * 0.54, 0.55),
                        (side * 0.44, 0.1),
                    ],
                    shade,
                )
        if style in ("bun", "palace", "topknot"):
            self.dot((-0.06, -0.66), (0.20, 0.17), shade)
            if style == "palace":
                self.dot((-0.24, -0.58), (0.17, 0.15), shade)
                self.dot((0.16, -0.60), (0.17, 0.15), shade)

    def _hair_before(self) -> None:
        style, width = self.look.hair_style, self.width
        cap = [
            (-0.40, 0.06),
            (-0.43, -0.18),
            (-0.37, -0.44),
            (-0.18, -0.60),
            (0.05, -0.635),
            (0.27, -0.56),
            (0.41, -0.36),
        ]
        cap += [(0.43, -0.12), (0.395, 0.05)]
        cap = [(x * width, y) for x, y in cap]
        fringes: dict[str, list[Point]] = {
            "short": [(0.36, -0.16), (0.27, -0.31), (0.02, -0.27), (-0.22, -0.31), (-0.34, -0.14)],
            "crop": [(0.36, -0.24), (0.2, -0.36), (-0.1, -0.36), (-0.33, -0.22)],
            "side": [(0.36, -0.18), (0.30, -0.36), (-0.05, -0.26), (-0.26, -0.18), (-0.35, -0.05)],
            "swept": [(0.35, -0.22), (0.24, -0.38), (-0.12, -0.40), (-0.32, -0.22), (-0.36, -0.02)],
            "curtain": [(0.37, -0.04), (0.31, -0.22), (0.03, -0.40), (-0.27, -0.2), (-0.36, -0.02)],
            "thin": [(0.40, -0.10), (0.33, -0.36), (0.0, -0.47), (-0.31, -0.36), (-0.39, -0.06)],
            "bun": [(0.36, -0.10), (0.25, -0.33), (0.02, -0.40), (-0.22, -0.33), (-0.36, -0.06)],
            "topknot": [(0.37, -0.18), (0.26, -0.36), (0.0, -0.42), (-0.26, -0.36), (-0.37, -0.14)],
            "palace": [(0.38, -0.02), (0.28, -0.26), (0.02, -0.42), (-0.26, -0.26), (-0.38, 0.0)],
            "ponytail": [(0.36, -0.06), (0.27, -0.27), (0.02, -0.33), (-0.2, -0.24), (-0.36, -0.02)],
        }
        usual: list[Point] = [
            (0.38, 0.02),
            (0.33, -0.16),
            (0.10, -0.34),
            (-0.14, -0.22),
            (-0.32, -0.10),
            (-0.39, 0.04),
        ]
        if style == "long_fringe" or (style in ("bob", "twin") and self.look.fringe > 40):
            usual = [(0.38, 0.0), (0.30, -0.10), (0.10, -0.12), (-0.12, -0.10), (-0.30, -0.12), (-0.38, 0.02)]
        inner = [(x * width, y) for x, y in fringes.get(style, usual)]
        shape = curve(self.path(cap), closed=False) + curve(self.path(inner), closed=False)
        self.canvas.polygon(shape, self.hair)
        self._side_locks()
        shine = [(-0.30, -0.40), (-0.08, -0.53), (0.20, -0.50), (0.34, -0.34), (0.18, -0.42), (-0.08, -0.45)]
        light = self.pose.light * self.pose.facing
        shine = [((x + light * 0.05) * width, y) for x, y in shine]
        self.canvas.clipped(shape, curve(self.path(shine)), (*lighter(self.hair, 0.5), 70))
        strands = darker(self.hair, 0.35) if self.look.age != "old" else darker(self.hair, 0.2)
        for x in (-0.2, -0.05, 0.12, 0.26):
            self.line(
                [(x * width * 0.6, -0.60), (x * width, -0.47), (x * 1.25 * width, -0.34)],
                (*strands, 110),
                0.008,
            )

    def _side_locks(self) -> None:
        width = self.width
        if self.look.hair_style in ("long", "long_fringe", "wavy", "palace", "bob"):
            low = 0.48 if self.look.hair_style == "bob" else 0.95
            for side in (-1, 1):
                lock = [
                    (side * 0.42, -0.30),
                    (side * 0.49, 0.1),
                    (side * 0.50, low),
                    (side * 0.41, low - 0.06),
                ]
                lock += [(side * 0.39, 0.2), (side * 0.35, -0.08)]
                self.blob([(x * width, y) for x, y in lock], self.hair)
        elif self.look.female:
            for side in (-1, 1):
                lock = [(side * 0.40, -0.2), (side * 0.405, 0.1), (side * 0.375, 0.26), (side * 0.36, 0.02)]
                self.blob([(x * width, y) for x, y in lock], self.hair)
        else:
            for side in (-1, 1):
                self.shape(
                    [(side * 0.40 * width, -0.2), (side * 0.395 * width, 0.09), (side * 0.355 * width, 0.0)],
                    self.hair,
                )

    def _extras(self) -> None:
        shift = self.pose.turn * 0.085
        if self.look.beard:
            beard = [
                (-0.30, 0.24),
                (-0.16, 0.30),
                (0, 0.275),
                (0.16, 0.30),
                (0.30, 0.24),
                (0.24, 0.44),
                (0.06, 0.56),
                (-0.16, 0.50),
            ]
            outer = [(x * self.width + shift * 0.6, y) for x, y in beard]
            self.canvas.blob(self.path(outer), (*self.hair, 70 if self.look.age != "old" else 150))
            self._mouth(shift * 1.1)
        if self.look.glasses:
            frame = (34, 32, 38)
            for side in (-1, 1):
                centre = (side * 0.168 * self.width + shift, 0.05)
                self.line([*_ring(centre, 0.118, 0.10), _ring(centre, 0.118, 0.10)[0]], frame, 0.016)
                self.blob(_ring(centre, 0.11, 0.092), (210, 226, 240, 40))
            self.line([(shift - 0.05, 0.03), (shift, 0.015), (shift + 0.05, 0.03)], frame, 0.016)
        if self.look.jewel and self.unit > 60:
            for side in (-1, 1) if self.pose.turn < 0.45 else (-1,):
                self.dot((side * 0.395 * self.width, 0.20), (0.020, 0.034), (236, 208, 132))
        if self.look.hair_style in ("palace", "topknot"):
            pin = (216, 178, 92)
            self.line([(-0.28, -0.70), (0.18, -0.63)], pin, 0.022)
            self.dot((0.2, -0.63), (0.04, 0.04), (196, 60, 66) if self.look.female else pin)


def _ring(centre: Point, across: float, down: float) -> list[Point]:
    return [
        (centre[0] + across * x, centre[1] + down * y)
        for x, y in (
            (1, 0),
            (0.707, 0.707),
            (0, 1),
            (-0.707, 0.707),
            (-1, 0),
            (-0.707, -0.707),
            (0, -1),
            (0.707, -0.707),
        )
    ]


def _mirror(right: Sequence[Point], width: float) -> list[Point]:
    """Close a right-hand outline that begins on the axis with its own mirror image."""
    outline = [(x * width, y) for x, y in right]
    return outline + [(-x, y) for x, y in reversed(outline) if x != 0]
