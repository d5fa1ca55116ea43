"""Outdoors: street, rooftop, courtyard of old, hills, park; and the rain over any of them."""

import numpy as np
from PIL import Image

from shortdrama_pipeline.rehearsal.canvas import Colour, darker, lighter, mix
from shortdrama_pipeline.rehearsal.scenery import Scene, perspective

NEON: tuple[Colour, ...] = ((255, 86, 120), (70, 214, 255), (255, 190, 70), (150, 110, 255), (90, 240, 170))
SIGNS = ("酒店", "火锅", "茶餐厅", "KTV", "药房", "书店", "面馆", "网吧")


def street(scene: Scene) -> None:
    """A street running away from us between houses."""
    vanish = (0.5, 0.47)
    scene.sky(0, 0.52)
    scene.stars_and_moon(0.62, 0.10, low=0.3)
    scene.skyline(0.50, 0.24, left=0.28, right=0.72, near=0.2)
    road = scene.lit((96, 98, 106), indoors=False)
    scene.fade(0.47, 1, [(0, darker(road, 0.3)), (1, road)])
    for side in (-1, 1):
        walk = [
            (0.5 + side * 0.03, 0.48),
            (0.5 + side * 0.055, 0.48),
            (0.5 + side * 0.95, 1.02),
            (0.5 + side * 0.42, 1.02),
        ]
        scene.quad(walk, scene.lit((142, 140, 140), indoors=False))
        scene.line([walk[0], walk[3]], scene.lit((176, 174, 170), indoors=False), 0.006)
    for side in (-1, 1):
        _row_of_houses(scene, side, vanish)
    for depth in (0.06, 0.34, 0.55, 0.70, 0.80):
        near, far = depth, depth + (1 - depth) * 0.16
        dash = [
            perspective((x, 1.05), vanish, d)
            for x, d in ((0.485, near), (0.515, near), (0.515, far), (0.485, far))
        ]
        scene.quad(dash, scene.lit((226, 222, 206), indoors=False))
    for side, depth in ((-1, 0.10), (1, 0.36), (-1, 0.60), (1, 0.74)):
        _street_lamp(scene, side, depth, vanish)
    if scene.hour.dark > 0.4:
        for _ in range(22):
            x, y = scene.chance.uniform(0.15, 0.85), scene.chance.uniform(0.60, 0.98)
            colour = scene.chance.choice((*NEON, scene.hour.lamp))
            scene.glow(x, y, scene.chance.uniform(0.03, 0.09), 0.20, colour)


def _row_of_houses(scene: Scene, side: int, vanish: tuple[float, float]) -> None:
    x = 0.5 + side * 0.72
    edges = (0.0, 0.26, 0.46, 0.62, 0.74, 0.84)
    tops = (-0.30, -0.14, -0.26, -0.05, -0.18)
    tones: tuple[Colour, ...] = (
        (128, 118, 122),
        (104, 110, 126),
        (140, 120, 108),
        (110, 112, 112),
        (96, 100, 118),
    )
    for index, top in enumerate(tops):
        near, far = edges[index], edges[index + 1]
        tone = mix(scene.lit(tones[(index + (side > 0)) % 5], indoors=False), scene.hour.far, 0.12 * index)
        house = [
            perspective((x, y), vanish, d) for y, d in ((top, near), (top, far), (1.0, far), (1.0, near))
        ]
        scene.quad(house, tone if side < 0 else darker(tone, 0.14))
        _house_windows(scene, x, top, near, far, vanish, tone)
        if scene.hour.dark > 0.4 or index % 2:
            _neon_sign(scene, x, (near + far) / 2, vanish, side)
        shop = [
            perspective((x, y), vanish, d)
            for y, d in ((0.78, near + 0.02), (0.78, far), (1.0, far), (1.0, near + 0.02))
        ]
        scene.quad(shop, mix(darker(tone, 0.3), scene.hour.lamp, 0.25 + 0.45 * scene.hour.dark))


def _house_windows(
    scene: Scene, x: float, top: float, near: float, far: float, vanish: tuple[float, float], tone: Colour
) -> None:
    dark_glass = mix(tone, (40, 52, 78), 0.55)
    for row in range(9):
        y = top + 0.05 + row * 0.095
        if y > 0.70:
            break
        for column in range(3):
            start = near + (far - near) * (0.12 + column * 0.29)
            ends = start + (far - near) * 0.18
            lit = scene.chance.random() < 0.55 * scene.hour.dark
            glass = mix(scene.hour.lamp, tone, scene.chance.uniform(0, 0.35)) if lit else dark_glass
            pane = [
                perspective((x, py), vanish, d)
                for py, d in ((y, start), (y, ends), (y + 0.055, ends), (y + 0.055, start))
            ]
            scene.quad(pane, glass)


def _neon_sign(scene: Scene, x: float, depth: float, vanish: tuple[float, float], side: int) -> None:
    colour = scene.chance.choice(NEON)
    text = scene.chance.choice(SIGNS)
    place = perspective((x, 0.36 + scene.chance.uniform(-0.1, 0.12)), vanish, depth)
    size = 0.058 * (1 - depth)
    left = place[0] - side * size * 1.1
    wide, tall = size * 1.5, size * 1.12 * len(text) * scene.size[0] / scene.size[1] + 0.006
    scene.box(left - wide / 2, place[1], left + wide / 2, place[1] + tall, (22, 22, 32), radius=0.005)
    day = scene.hour.dark < 0.4
    scene.write(
        text,
        left,
        place[1] + size * 0.36,
        size,
        mix(colour, (255, 255, 255), 0.35 if not day else 0.1),
        vertical=True,
    )
    if not day:
        scene.glow(left, place[1] + tall / 2, 0.20 * (1 - depth), 0.42, colour)


def _street_lamp(scene: Scene, side: int, depth: float, vanish: tuple[float, float]) -> None:
    foot = perspective((0.5 + side * 0.52, 1.0), vanish, depth)
    head = perspective((0.5 + side * 0.52, 0.16), vanish, depth)
    arm = (head[0] - side * 0.09 * (1 - depth), head[1] - 0.006)
    tone = scene.lit((70, 72, 80), indoors=False)
    scene.line([foot, head], tone, 0.014 * (1 - depth))
    scene.line([head, arm], tone, 0.012 * (1 - depth))
    scene.dot(arm[0], arm[1] + 0.004, 0.022 * (1 - depth), (255, 244, 214))
    if scene.hour.dark > 0.3:
        scene.glow(arm[0], arm[1], 0.34 * (1 - depth), 0.55)


def rooftop(scene: Scene) -> None:
    scene.sky(0, 0.62)
    scene.stars_and_moon(0.26, 0.14, low=0.42)
    scene.skyline(0.60, 0.20, near=0.0)
    scene.skyline(0.62, 0.28, near=0.55)
    tone = scene.lit((142, 138, 136), indoors=False)
    scene.fade(0.66, 1, [(0, darker(tone, 0.25)), (1, tone)])
    for index in range(-8, 18):
        scene.line(
            [(0.5 + (index / 9 - 0.5) * 0.5, 0.66), (index / 9 * 1.6 - 0.3, 1)],
            (*darker(tone, 0.4), 120),
            0.003,
        )
    for y in (0.70, 0.76, 0.85):
        scene.line([(0, y), (1, y)], (*darker(tone, 0.4), 120), 0.003)
    wall = scene.lit((168, 160, 152), indoors=False)
    scene.box(0, 0.595, 1, 0.66, wall)
    scene.box(0, 0.585, 1, 0.60, lighter(wall, 0.2))
    rail = scene.lit((70, 74, 84), indoors=False)
    for index in range(12):
        scene.line([(index * 0.095, 0.50), (index * 0.095, 0.59)], rail, 0.006)
    for y in (0.50, 0.54):
        scene.line([(0, y), (1, y)], rail, 0.008)
    tank = scene.lit((122, 116, 112), indoors=False)
    scene.box(0.74, 0.40, 0.98, 0.585, tank)
    scene.canvas.ellipse(
        scene.at(0.86, 0.40), (scene.size[0] * 0.12, scene.size[1] * 0.014), lighter(tank, 0.2)
    )
    for x in (0.77, 0.95):
        scene.line([(x, 0.585), (x, 0.66)], darker(tank, 0.4), 0.014)
    scene.box(0.02, 0.62, 0.20, 0.70, scene.lit((150, 152, 152), indoors=False))
    for index in range(5):
        scene.line(
            [(0.035, 0.632 + index * 0.013), (0.185, 0.632 + index * 0.013)], darker(tone, 0.35), 0.004
        )
    if scene.hour.dark > 0.4:
        for _ in range(16):
            scene.glow(
                scene.chance.random(),
                scene.chance.uniform(0.44, 0.60),
                scene.chance.uniform(0.02, 0.05),
                0.35,
            )


def courtyard(scene: Scene) -> None:
    """A courtyard of old: curved roof, lattice doors, lanterns."""
    scene.sky(0, 0.55)
    scene.stars_and_moon(0.74, 0.10, low=0.3)
    for height, shade in ((0.16, 0.0), (0.10, 0.25)):
        points = [(x / 10, 0.44 - height * scene.chance.uniform(0.4, 1)) for x in range(-1, 12)]
        scene.quad([*points, (1.1, 0.63), (-0.1, 0.63)], darker(scene.hour.far, shade))
    tile = scene.lit((74, 82, 92), indoors=False)
    roof = [
        (-0.06, 0.315),
        (0.04, 0.335),
        (0.16, 0.315),
        (0.28, 0.245),
        (0.72, 0.245),
        (0.84, 0.315),
        (0.96, 0.335),
        (1.06, 0.315),
        (0.98, 0.385),
        (0.02, 0.385),
    ]
    scene.quad(roof, tile)
    for index in range(25):
        x = 0.30 + index * 0.0167
        low = 0.5 + (x - 0.5) * 2.2
        scene.line([(x, 0.25), (low, 0.38)], darker(tile, 0.35), 0.003)
    scene.line([(0.27, 0.245), (0.73, 0.245)], darker(tile, 0.45), 0.020)
    wood = scene.lit((122, 52, 42), indoors=False)
    scene.box(0.08, 0.385, 0.92, 0.62, darker(wood, 0.25))
    for left in (0.16, 0.34, 0.52, 0.70):
        _door(scene, left, 0.41, left + 0.145, 0.61, wood)
    for x in (0.10, 0.315, 0.495, 0.675, 0.88):
        scene.box(x - 0.014, 0.385, x + 0.014, 0.63, wood)
    stone = scene.lit((142, 138, 128), indoors=False)
    scene.fade(0.62, 1, [(0, darker(stone, 0.25)), (1, stone)])
    for step in range(3):
        scene.box(
            0.16 - step * 0.05,
            0.62 + step * 0.014,
            0.84 + step * 0.05,
            0.634 + step * 0.014,
            lighter(stone, 0.12 - step * 0.06),
        )
    for row in range(6):
        y = 0.67 + row * row * 0.012 + row * 0.012
        scene.line([(0, y), (1, y)], (*darker(stone, 0.4), 130), 0.003)
        for column in range(7):
            x = column / 6 + (0.08 if row % 2 else 0)
            scene.line(
                [(x, y), (0.5 + (x - 0.5) * 1.12, y + 0.02 + row * 0.012)], (*darker(stone, 0.4), 110), 0.003
            )
    for x in (0.22, 0.405, 0.585, 0.78):
        scene.line([(x, 0.385), (x, 0.415)], (60, 40, 36), 0.004)
        scene.dot(x, 0.438, 0.036, (206, 52, 46), flat=1.12)
        scene.box(x - 0.015, 0.413, x + 0.015, 0.42, (190, 150, 80))
        scene.glow(x, 0.438, 0.13, 0.25 + 0.5 * scene.hour.dark, (255, 130, 90))
    _pine(scene)


def _door(scene: Scene, left: float, top: float, right: float, bottom: float, wood: Colour) -> None:
    paper = mix((222, 204, 170), (255, 206, 132), 0.75 * scene.hour.dark)
    scene.box(left, top, right, bottom, paper)
    for index in range(5):
        x = left + (right - left) * index / 4
        scene.line([(x, top), (x, bottom - 0.05)], wood, 0.005)
    for index in range(7):
        y = top + (bottom - 0.05 - top) * index / 6
        scene.line([(left, y), (right, y)], wood, 0.005)
    scene.box(left, bottom - 0.05, right, bottom, darker(wood, 0.1))
    scene.glow((left + right) / 2, (top + bottom) / 2, 0.12, 0.3 * scene.hour.dark)


def _pine(scene: Scene) -> None:
    trunk = scene.lit((74, 56, 48), indoors=False)
    scene.line([(-0.02, 0.72), (0.05, 0.55), (0.02, 0.38), (0.12, 0.22)], trunk, 0.05)
    scene.line([(0.03, 0.40), (0.18, 0.36)], trunk, 0.02)
    green = scene.lit((58, 92, 74), indoors=False)
    for x, y, wide in ((0.10, 0.20, 0.16), (-0.02, 0.28, 0.15), (0.20, 0.345, 0.11), (0.02, 0.13, 0.10)):
        scene.blob(
            [
                (x - wide, y + 0.01),
                (x - wide * 0.5, y - 0.028),
                (x, y - 0.038),
                (x + wide * 0.55, y - 0.024),
                (x + wide, y + 0.012),
                (x, y + 0.018),
            ],
            darker(green, 0.18),
        )
        scene.blob(
            [
                (x - wide * 0.8, y - 0.002),
                (x - wide * 0.3, y - 0.032),
                (x + wide * 0.4, y - 0.026),
                (x + wide * 0.75, y),
            ],
            green,
        )


def porch(scene: Scene) -> None:
    """The front of a house: steps, a door with a lamp, hedges."""
    scene.sky(0, 0.79)
    scene.stars_and_moon(0.80, 0.10, low=0.25)
    wall = scene.lit((188, 184, 172), indoors=False)
    scene.box(0.06, 0.20, 0.94, 0.70, wall)
    for index in range(26):
        y = 0.205 + index * 0.019
        scene.line([(0.06, y), (0.94, y)], (*darker(wall, 0.35), 110), 0.002)
    tile = scene.lit((92, 76, 76), indoors=False)
    scene.quad([(-0.04, 0.215), (0.14, 0.10), (0.86, 0.10), (1.04, 0.215)], tile)
    scene.quad([(0.26, 0.33), (0.36, 0.275), (0.64, 0.275), (0.74, 0.33)], darker(tile, 0.15))
    for x in (0.30, 0.70):
        scene.box(x - 0.016, 0.33, x + 0.016, 0.70, scene.lit((232, 228, 218), indoors=False))
    door = scene.lit((112, 52, 46), indoors=False)
    scene.box(0.385, 0.395, 0.615, 0.70, lighter(wall, 0.3))
    scene.box(0.40, 0.405, 0.60, 0.70, door)
    for top, bottom in ((0.425, 0.53), (0.55, 0.68)):
        scene.box(0.425, top, 0.575, bottom, darker(door, 0.18))
    scene.dot(0.582, 0.555, 0.011, (224, 192, 110))
    for left in (0.12, 0.755):
        glass = mix(scene.lit((140, 166, 186), indoors=False), (255, 212, 140), 0.8 * scene.hour.dark)
        scene.box(left - 0.012, 0.40, left + 0.132, 0.56, lighter(wall, 0.35))
        scene.box(left, 0.407, left + 0.12, 0.553, glass)
        scene.line([(left + 0.06, 0.407), (left + 0.06, 0.553)], lighter(wall, 0.3), 0.006)
        scene.glow(left + 0.06, 0.48, 0.16, 0.4 * scene.hour.dark, (255, 206, 132))
    scene.box(0.48, 0.345, 0.52, 0.375, (255, 236, 190), radius=0.01)
    scene.glow(0.5, 0.37, 0.36, 0.25 + 0.5 * scene.hour.dark)
    stone = scene.lit((150, 146, 140), indoors=False)
    for step in range(4):
        scene.box(
            0.24 - step * 0.035,
            0.70 + step * 0.022,
            0.76 + step * 0.035,
            0.722 + step * 0.022,
            lighter(stone, 0.12 - step * 0.05),
        )
    grass = scene.lit((92, 118, 78), indoors=False)
    scene.fade(0.785, 1, [(0, grass), (1, darker(grass, 0.3))])
    for left, right in ((-0.05, 0.24), (0.76, 1.05)):
        scene.box(left, 0.70, right, 0.79, grass)
        for index in range(9):
            x = left + (right - left) * index / 8
            scene.dot(
                x, 0.69, 0.05, darker(scene.lit((70, 104, 72), indoors=False), 0.10 * (index % 3)), flat=0.8
            )
    scene.quad([(0.36, 0.785), (0.64, 0.785), (0.98, 1.0), (0.02, 1.0)], darker(stone, 0.06))


def hills(scene: Scene) -> None:
    """Hills in mist, a path, a tree."""
    scene.sky(0, 0.6)
    scene.stars_and_moon(0.70, 0.12, low=0.32)
    base = scene.lit((96, 124, 112), indoors=False)
    for layer in range(4):
        level = 0.42 + layer * 0.055
        points = [(x / 8, level - scene.chance.uniform(0.0, 0.16 - layer * 0.03)) for x in range(-1, 10)]
        tone = mix(scene.hour.sky[-1][1], base, 0.30 + layer * 0.22)
        scene.blob([*points, (1.3, 0.72), (1.3, 1.2), (-0.3, 1.2), (-0.3, 0.72)], tone)
        scene.box(0, level + 0.02, 1, level + 0.05, (*mix(scene.hour.sky[-1][1], (255, 255, 255), 0.3), 50))
    grass = scene.lit((108, 132, 88), indoors=False)
    scene.fade(0.64, 1, [(0, grass), (1, darker(grass, 0.3))])
    path = scene.lit((196, 176, 140), indoors=False)
    scene.blob(
        [
            (0.50, 0.64),
            (0.545, 0.64),
            (0.50, 0.72),
            (0.62, 0.82),
            (0.86, 1.08),
            (0.20, 1.08),
            (0.40, 0.84),
            (0.44, 0.72),
        ],
        path,
    )
    trunk = scene.lit((86, 66, 54), indoors=False)
    scene.line([(0.88, 0.74), (0.86, 0.52), (0.90, 0.36)], trunk, 0.040)
    scene.line([(0.865, 0.52), (0.78, 0.42)], trunk, 0.018)
    leaf = scene.lit((86, 118, 78), indoors=False)
    for x, y, radius in ((0.90, 0.30, 0.17), (0.78, 0.37, 0.12), (1.0, 0.38, 0.13), (0.86, 0.24, 0.11)):
        scene.dot(x, y, radius, darker(leaf, 0.16), flat=0.85)
    for x, y, radius in ((0.88, 0.275, 0.12), (0.765, 0.355, 0.08), (0.97, 0.36, 0.08)):
        scene.dot(x, y, radius, leaf, flat=0.8)
    for _ in range(70):
        x, y = scene.chance.random(), scene.chance.uniform(0.68, 1)
        scene.line(
            [(x, y), (x + scene.chance.uniform(-0.01, 0.01), y - 0.012 * y)], darker(grass, 0.35), 0.003
        )


def rain_mask(size: tuple[int, int], *, seed: int) -> Image.Image:
    """Return streaks of rain as an L mask that can be scrolled downwards without a seam."""
    width, height = size
    chance = np.random.default_rng(seed)
    mask = np.zeros((height, width), dtype=np.uint8)
    for _ in range(320):
        x, y = int(chance.integers(0, width)), int(chance.integers(0, height))
        length, strength = int(chance.integers(height // 40, height // 16)), int(chance.integers(26, 92))
        steps = np.arange(length)
        columns = (x - steps // 9) % width
        rows = (y + steps) % height
        fade = (strength * np.sin(np.pi * steps / length)).astype(np.uint8)
        for shift in range(2):
            spot = (rows, (columns + shift) % width)
            mask[spot] = np.maximum(mask[spot], fade)
    return Image.fromarray(mask)
