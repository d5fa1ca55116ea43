"""What people wear, from the neck down, for the figure that is being drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortdrama_pipeline.rehearsal.canvas import Colour, Point, darker, lighter, mix

if TYPE_CHECKING:
    from shortdrama_pipeline.rehearsal.figures import Figure

SHIRT: Colour = (238, 238, 236)
_LONG = {"robe": 6.75, "dress": 5.2, "coat": 4.5}


def dress(figure: Figure) -> None:
    """Draw legs, torso, arms and what the costume adds."""
    legs(figure)
    arm(figure, side=-1)
    torso(figure)
    collar(figure)
    arm(figure, side=1)


def outline(figure: Figure) -> list[Point]:
    """The torso, from the neck over the shoulders to the hem."""
    wide = 0.98 * figure.build
    waist = wide * (0.56 if figure.look.female else 0.70)
    hip = wide * (0.66 if figure.look.female else 0.70)
    right = [(0.20, 0.66), (wide * 0.62, 0.80), (wide * 0.93, 0.98), (wide * 0.98, 1.28), (wide * 0.76, 1.75)]
    right += [(waist, 2.45), (hip, 3.15)]
    hem = _LONG.get(figure.look.costume)
    if hem is not None:
        flare = 1.35 if figure.look.costume == "robe" else 1.15
        right += [(hip * flare, hem * 0.72), (hip * flare * 1.12, hem)]
    else:
        right += [(hip * 0.98, 3.45)]
    return right + [(-x, y) for x, y in reversed(right)]


def legs(figure: Figure) -> None:
    costume = figure.look.costume
    if costume == "robe":
        for side in (-0.25, 0.25):
            figure.dot((side, 6.85), (0.24, 0.12), (40, 34, 38))
        return
    trousers = (
        darker(figure.clothes, 0.45)
        if costume in ("suit", "uniform")
        else mix(figure.accent, (38, 42, 58), 0.72)
    )
    cloth = figure.skin if costume == "dress" else trousers
    wide = 0.98 * figure.build * (0.66 if figure.look.female else 0.70)
    for side in (-1, 1):
        leg = [(side * 0.02, 3.0), (side * wide, 3.0), (side * wide * 0.86, 4.9), (side * wide * 0.66, 6.7)]
        leg += [(side * wide * 0.26, 6.7), (side * wide * 0.20, 4.9)]
        figure.shape(leg, darker(cloth, 0.12) if side == figure.shade_side else cloth)
        shoe = [
            (side * wide * 0.22, 6.66),
            (side * wide * 0.70, 6.66),
            (side * wide * 0.80 + 0.06, 6.86),
            (side * wide * 0.2, 6.88),
        ]
        figure.shape(shoe, (30, 27, 32))


def torso(figure: Figure) -> None:
    shape = outline(figure)
    figure.blob(shape, figure.clothes)
    side = figure.shade_side
    cover = [
        (side * 0.12, 0.6),
        (side * 0.34, 1.4),
        (side * 0.22, 2.5),
        (side * 0.40, 7),
        (side * 2.5, 7),
        (side * 2.5, 0.6),
    ]
    figure.clipped(shape, cover, (*darker(figure.clothes, 0.42), 150))
    fold = (*darker(figure.clothes, 0.5), 90)
    figure.line(
        [(-0.55 * figure.build, 1.35), (-0.42 * figure.build, 1.8), (-0.46 * figure.build, 2.3)], fold, 0.022
    )
    figure.line([(0.52 * figure.build, 1.5), (0.36 * figure.build, 1.95)], fold, 0.020)


def arm(figure: Figure, *, side: int) -> None:
    """The near arm (side 1) may gesture; both may be folded."""
    wide = 0.98 * figure.build
    sleeve = darker(figure.clothes, 0.20 if side == figure.shade_side else 0.06)
    arms = figure.pose.arms
    if arms == "folded":
        folded(figure, side=side, sleeve=sleeve)
        return
    if arms == "gesture" and side == 1:
        upper = [
            (wide * 0.70, 0.92),
            (wide * 0.98, 1.02),
            (wide * 1.12, 1.7),
            (wide * 1.06, 2.28),
            (wide * 0.78, 2.30),
            (wide * 0.74, 1.6),
        ]
        figure.blob(upper, sleeve)
        fore = [
            (wide * 1.08, 2.32),
            (wide * 0.78, 2.30),
            (wide * 0.98, 1.62),
            (wide * 1.22, 1.48),
            (wide * 1.34, 1.58),
        ]
        figure.blob(fore, lighter(sleeve, 0.08))
        hand(figure, (wide * 1.34, 1.36), raised=True)
        return
    points = [
        (0.68, 0.93),
        (0.95, 0.98),
        (1.07, 1.35),
        (1.12, 2.1),
        (1.10, 2.9),
        (0.92, 3.0),
        (0.86, 2.2),
        (0.78, 1.5),
    ]
    broad = 1.35 if figure.look.costume == "robe" else 1.0
    bare = figure.look.costume == "dress"
    fill = darker(figure.skin, 0.10 if side == figure.shade_side else 0.0) if bare else sleeve
    hand(figure, (side * wide * 1.02, 3.12), raised=False)
    figure.blob([(side * wide * x * (broad if y > 2 else 1), y) for x, y in points], fill)
    if bare:
        cap = [(0.66, 0.90), (0.96, 0.98), (1.08, 1.38), (0.78, 1.45)]
        figure.blob([(side * wide * x, y) for x, y in cap], figure.clothes)


def folded(figure: Figure, *, side: int, sleeve: Colour) -> None:
    wide = 0.98 * figure.build
    upper = [(0.70, 0.92), (0.97, 1.0), (1.10, 1.5), (1.06, 2.15), (0.80, 2.2), (0.76, 1.5)]
    figure.blob([(side * wide * x, y) for x, y in upper], sleeve)
    if side == 1:
        low = [
            (wide * 1.04, 1.86),
            (wide * 1.04, 2.22),
            (0, 2.18),
            (-wide * 0.72, 2.06),
            (-wide * 0.70, 1.82),
            (0, 1.86),
        ]
        figure.blob(low, lighter(sleeve, 0.05))
        high = [
            (-wide * 1.04, 1.74),
            (-wide * 1.04, 2.10),
            (0, 2.02),
            (wide * 0.66, 1.92),
            (wide * 0.64, 1.68),
            (0, 1.70),
        ]
        figure.blob(high, lighter(sleeve, 0.12))
        figure.blob(
            [(wide * 0.58, 1.66), (wide * 0.86, 1.70), (wide * 0.88, 1.90), (wide * 0.60, 1.94)], figure.skin
        )


def hand(figure: Figure, centre: Point, *, raised: bool) -> None:
    x, y = centre
    skin = figure.skin
    if raised:
        figure.blob(
            [
                (x - 0.13, y + 0.14),
                (x - 0.15, y - 0.05),
                (x - 0.02, y - 0.18),
                (x + 0.12, y - 0.08),
                (x + 0.10, y + 0.14),
            ],
            skin,
        )
        for reach, lean in ((-0.30, -0.03), (-0.34, 0.03), (-0.32, 0.09)):
            figure.line([(x + lean, y - 0.06), (x + lean * 1.6, y + reach)], skin, 0.062)
        figure.line([(x - 0.1, y), (x - 0.22, y - 0.14)], skin, 0.06)
        return
    figure.blob(
        [
            (x - 0.10, y - 0.16),
            (x + 0.10, y - 0.16),
            (x + 0.11, y + 0.12),
            (x, y + 0.30),
            (x - 0.09, y + 0.14),
        ],
        skin,
    )


def collar(figure: Figure) -> None:
    """What the costume shows at the neck and down the front."""
    fronts = {
        "suit": suit,
        "coat": coat,
        "uniform": uniform,
        "hoodie": hoodie,
        "dress": gown,
        "apron": apron,
        "robe": robe,
        "jacket": jacket,
        "cardigan": cardigan,
        "sweater": sweater,
    }
    fronts.get(figure.look.costume, shirt)(figure)


def _neckline(figure: Figure, depth: float, inner: Colour) -> None:
    figure.shape([(-0.22, 0.64), (0.22, 0.64), (0.03, depth), (-0.03, depth)], inner)


def _lapels(figure: Figure, depth: float, cloth: Colour) -> None:
    for side in (-1, 1):
        lapel = [
            (side * 0.20, 0.62),
            (side * 0.42, 0.82),
            (side * 0.36, 1.14),
            (side * 0.46, 1.22),
            (side * 0.03, depth),
        ]
        figure.shape(lapel, lighter(cloth, 0.10) if side != figure.shade_side else darker(cloth, 0.16))
        figure.line([*[(x, y) for x, y in lapel[:3]], lapel[4]], (*darker(cloth, 0.5), 160), 0.012)


def suit(figure: Figure) -> None:
    _neckline(figure, 2.0, SHIRT)
    for side in (-1, 1):
        figure.shape(
            [(side * 0.20, 0.60), (side * 0.02, 0.86), (side * 0.20, 0.96), (side * 0.27, 0.74)],
            (250, 250, 250),
        )
    if not figure.look.female:
        figure.shape([(-0.06, 0.84), (0.06, 0.84), (0.09, 1.65), (0, 1.80), (-0.09, 1.65)], figure.accent)
        figure.shape(
            [(-0.075, 0.80), (0.075, 0.80), (0.045, 0.93), (-0.045, 0.93)], lighter(figure.accent, 0.12)
        )
    _lapels(figure, 2.0, figure.clothes)
    figure.line([(0.0, 2.0), (0.02, 3.3)], (*darker(figure.clothes, 0.5), 170), 0.014)
    for y in (2.18, 2.58):
        figure.dot((0.07, y), (0.032, 0.032), darker(figure.clothes, 0.55))
    figure.shape([(0.42, 1.42), (0.62, 1.36), (0.63, 1.42), (0.43, 1.48)], SHIRT)


def coat(figure: Figure) -> None:
    _neckline(figure, 1.75, (92, 150, 168))
    _lapels(figure, 1.75, figure.clothes)
    figure.line([(0.0, 1.75), (0.02, 4.4)], (*darker(figure.clothes, 0.4), 170), 0.016)
    figure.line([(-0.24, 0.66), (-0.34, 1.1), (-0.22, 1.62), (-0.05, 1.72)], (46, 50, 58), 0.035)
    figure.line([(0.24, 0.66), (0.32, 1.1), (0.16, 1.50), (-0.05, 1.72)], (46, 50, 58), 0.035)
    figure.dot((-0.05, 1.76), (0.07, 0.07), (150, 156, 164))
    figure.shape([(0.36, 1.52), (0.66, 1.50), (0.66, 1.86), (0.37, 1.88)], lighter(figure.clothes, 0.35))
    figure.line([(0.46, 1.36), (0.46, 1.6)], figure.accent, 0.03)


def uniform(figure: Figure) -> None:
    _neckline(figure, 1.2, SHIRT)
    figure.shape([(-0.05, 0.82), (0.05, 0.82), (0.06, 1.2), (-0.06, 1.2)], (24, 28, 38))
    _lapels(figure, 1.3, figure.clothes)
    for side in (-1, 1):
        figure.shape(
            [(side * 0.55, 0.80), (side * 0.86, 0.92), (side * 0.84, 1.0), (side * 0.54, 0.88)],
            (206, 176, 92),
        )
    figure.dot((0.46, 1.48), (0.075, 0.085), (214, 184, 96))
    for y in (1.5, 1.95, 2.4):
        figure.dot((0, y), (0.035, 0.035), (206, 176, 92))


def hoodie(figure: Figure) -> None:
    hood = darker(figure.clothes, 0.22)
    figure.blob(
        [
            (-0.52, 0.82),
            (-0.36, 0.52),
            (0, 0.62),
            (0.36, 0.52),
            (0.52, 0.82),
            (0.22, 1.06),
            (0, 1.16),
            (-0.22, 1.06),
        ],
        hood,
    )
    figure.blob(
        [(-0.22, 0.60), (0.22, 0.60), (0.15, 0.86), (0, 0.94), (-0.15, 0.86)], darker(figure.skin, 0.16)
    )
    for side in (-1, 1):
        figure.line([(side * 0.14, 1.02), (side * 0.17, 1.5)], SHIRT, 0.026)
    figure.shape([(-0.42, 2.35), (0.42, 2.35), (0.55, 2.95), (-0.55, 2.95)], darker(figure.clothes, 0.14))


def gown(figure: Figure) -> None:
    figure.blob(
        [
            (-0.46, 0.78),
            (-0.2, 0.62),
            (0.2, 0.62),
            (0.46, 0.78),
            (0.40, 1.02),
            (0.16, 1.26),
            (-0.16, 1.26),
            (-0.40, 1.02),
        ],
        figure.skin,
    )
    figure.line([(-0.26, 0.76), (-0.1, 0.94), (0.1, 0.94), (0.26, 0.76)], (236, 208, 132), 0.016)
    figure.dot((0.0, 0.985), (0.035, 0.045), (236, 224, 190))
    figure.shape([(-0.55, 2.34), (0.55, 2.34), (0.56, 2.5), (-0.56, 2.5)], lighter(figure.clothes, 0.16))


def apron(figure: Figure) -> None:
    shirt(figure)
    bib = mix(figure.accent, (60, 48, 44), 0.35)
    figure.shape([(-0.40, 1.28), (0.40, 1.28), (0.62, 2.4), (0.66, 3.4), (-0.66, 3.4), (-0.62, 2.4)], bib)
    for side in (-1, 1):
        figure.line([(side * 0.38, 1.3), (side * 0.27, 0.74)], bib, 0.07)


def robe(figure: Figure) -> None:
    """A crossed collar, the right side over the left, and a broad sash."""
    inner, trim = (240, 236, 226), darker(figure.clothes, 0.38)
    build = figure.build
    figure.shape(
        [(-0.22, 0.64), (0.22, 0.64), (0.20, 0.9), (0.05, 1.25), (-0.02, 1.25), (-0.20, 0.9)], figure.skin
    )
    figure.line([(-0.24, 0.70), (-0.12, 1.06), (0.05, 1.38)], inner, 0.07)
    figure.shape(
        [(-0.42, 0.73), (-0.26, 0.66), (-0.10, 1.10), (0.10, 1.46), (0.04, 1.66), (-0.20, 1.26)], trim
    )
    figure.line([(0.24, 0.70), (0.10, 1.12), (-0.16, 1.62)], inner, 0.07)
    figure.shape(
        [
            (0.42, 0.73),
            (0.26, 0.66),
            (0.12, 1.14),
            (-0.16, 1.66),
            (-0.50, 2.3),
            (-0.28, 2.3),
            (0.04, 1.80),
            (0.30, 1.2),
        ],
        trim,
    )
    figure.shape(
        [(-0.62 * build, 2.24), (0.62 * build, 2.24), (0.64 * build, 2.62), (-0.64 * build, 2.62)],
        figure.accent,
    )
    figure.line(
        [(-0.62 * build, 2.43), (0.0, 2.47), (0.63 * build, 2.43)], (*darker(figure.accent, 0.4), 130), 0.02
    )
    figure.line([(0.12, 2.6), (0.18, 3.9)], darker(figure.accent, 0.2), 0.07)
    figure.line([(0.0, 2.66), (-0.03, 6.6)], (*darker(figure.clothes, 0.45), 120), 0.02)


def jacket(figure: Figure) -> None:
    tee = mix(figure.accent, (232, 230, 226), 0.7)
    figure.shape([(-0.26, 0.62), (0.26, 0.62), (0.30, 3.4), (-0.22, 3.4)], tee)
    figure.blob([(-0.2, 0.60), (0.2, 0.60), (0.14, 0.84), (0, 0.89), (-0.14, 0.84)], figure.skin)
    for side in (-1, 1):
        figure.shape(
            [(side * 0.20, 0.58), (side * 0.40, 0.74), (side * 0.38, 1.10), (side * 0.26, 1.02)],
            lighter(figure.clothes, 0.12),
        )
        figure.line([(side * 0.27, 1.0), (side * 0.28, 3.4)], (*darker(figure.clothes, 0.5), 200), 0.022)


def cardigan(figure: Figure) -> None:
    _neckline(figure, 1.9, lighter(figure.accent, 0.72))
    figure.blob([(-0.2, 0.60), (0.2, 0.60), (0.13, 0.86), (0, 0.94), (-0.13, 0.86)], figure.skin)
    for side in (-1, 1):
        figure.line([(side * 0.23, 0.64), (side * 0.14, 1.3), (0, 1.92)], darker(figure.clothes, 0.28), 0.07)
    figure.line([(0, 1.92), (0, 3.4)], darker(figure.clothes, 0.28), 0.06)
    for y in (2.1, 2.55, 3.0):
        figure.dot((0, y), (0.034, 0.034), lighter(figure.clothes, 0.45))


def sweater(figure: Figure) -> None:
    figure.blob([(-0.2, 0.58), (0.2, 0.58), (0.15, 0.80), (0, 0.86), (-0.15, 0.80)], figure.skin)
    figure.line(
        [(-0.22, 0.66), (-0.13, 0.85), (0, 0.91), (0.13, 0.85), (0.22, 0.66)],
        darker(figure.clothes, 0.25),
        0.085,
    )
    figure.shape(
        [
            (-0.62 * figure.build, 1.62),
            (0.66 * figure.build, 1.62),
            (0.62 * figure.build, 1.84),
            (-0.62 * figure.build, 1.84),
        ],
        mix(figure.clothes, figure.accent, 0.55),
    )


def shirt(figure: Figure) -> None:
    figure.shape([(-0.18, 0.60), (0.18, 0.60), (0.02, 1.02), (-0.02, 1.02)], figure.skin)
    for side in (-1, 1):
        figure.shape(
            [(side * 0.19, 0.57), (side * 0.01, 0.98), (side * 0.22, 1.10), (side * 0.32, 0.72)],
            lighter(figure.clothes, 0.20),
        )
    figure.line([(0, 1.0), (0.01, 3.3)], (*darker(figure.clothes, 0.45), 150), 0.014)
    for y in (1.35, 1.8, 2.25, 2.7):
        figure.dot((0.03, y), (0.024, 0.024), lighter(figure.clothes, 0.5))
