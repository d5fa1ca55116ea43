"""Rooms: corridor, office, living room, bedroom, café, hall, classroom, car, study, plain room."""

from shortdrama_pipeline.rehearsal.canvas import Colour, darker, lighter, mix
from shortdrama_pipeline.rehearsal.scenery import Scene, perspective


def corridor(scene: Scene) -> None:
    """A hospital corridor in one-point perspective."""
    vanish = (0.5, 0.40)
    wall, lower = scene.lit((214, 228, 226)), scene.lit((118, 168, 166))
    end = 0.80
    corners = {"tl": (-0.25, -0.12), "tr": (1.25, -0.12), "bl": (-0.25, 1.10), "br": (1.25, 1.10)}
    far = {name: perspective(each, vanish, end) for name, each in corners.items()}
    scene.quad([corners["tl"], corners["tr"], far["tr"], far["tl"]], lighter(wall, 0.25))
    scene.quad([corners["bl"], corners["br"], far["br"], far["bl"]], darker(wall, 0.22))
    scene.quad([corners["tl"], far["tl"], far["bl"], corners["bl"]], wall)
    scene.quad([corners["tr"], far["tr"], far["br"], corners["br"]], darker(wall, 0.10))
    for x, shade in ((-0.25, 0.0), (1.25, 0.12)):
        rail = [
            perspective((x, y), vanish, depth)
            for y, depth in ((0.68, 0), (0.68, end), (1.10, end), (1.10, 0))
        ]
        scene.quad(rail, darker(lower, shade))
        edge = [
            perspective((x, y), vanish, depth)
            for y, depth in ((0.66, 0), (0.66, end), (0.69, end), (0.69, 0))
        ]
        scene.quad(edge, lighter(lower, 0.35))
    scene.quad([far["tl"], far["tr"], far["br"], far["bl"]], lighter(wall, 0.12))
    for depth in (0.12, 0.38, 0.55, 0.67, 0.745):
        near, away = depth, depth + (1 - depth) * 0.16
        panel = [
            perspective((x, -0.12), vanish, d)
            for x, d in ((0.3, near), (0.7, near), (0.7, away), (0.3, away))
        ]
        scene.quad(panel, (252, 252, 246))
        middle = perspective((0.5, 1.10), vanish, (near + away) / 2)
        scene.canvas.ellipse(
            scene.at(*middle),
            (scene.size[0] * 0.20 * (1 - depth), scene.size[1] * 0.022 * (1 - depth)),
            (255, 255, 255, 70),
        )
    for x, start in ((-0.25, 0.30), (1.25, 0.22), (-0.25, 0.58), (1.25, 0.55)):
        span = (1 - start) * 0.26
        door = [
            perspective((x, y), vanish, d)
            for y, d in ((0.16, start), (0.16, start + span), (1.10, start + span), (1.10, start))
        ]
        scene.quad(door, scene.lit((176, 142, 108)))
        glass = [
            perspective((x, y), vanish, d)
            for y, d in (
                (0.30, start + span * 0.55),
                (0.30, start + span * 0.8),
                (0.55, start + span * 0.8),
                (0.55, start + span * 0.55),
            )
        ]
        scene.quad(glass, mix(scene.lit((200, 224, 230)), scene.hour.lamp, 0.4 * scene.hour.dark))
    scene.box(0.415, 0.335, 0.585, 0.37, (196, 52, 56))
    scene.write("急诊 EMERGENCY", 0.5, 0.352, 0.016, (255, 255, 255))
    scene.box(0.43, 0.385, 0.57, 0.548, mix(scene.lit((150, 190, 200)), scene.hour.lamp, 0.25))
    scene.line([(0.5, 0.385), (0.5, 0.548)], darker(wall, 0.4), 0.004)
    seat = scene.lit((64, 110, 130))
    scene.quad([(0.02, 0.715), (0.24, 0.655), (0.25, 0.675), (0.03, 0.745)], seat)
    scene.quad([(-0.02, 0.63), (0.20, 0.585), (0.22, 0.648), (0.0, 0.705)], lighter(seat, 0.12))
    for x, y in ((0.05, 0.74), (0.22, 0.68)):
        scene.line([(x, y), (x, y + 0.05)], (90, 96, 100), 0.008)


def passage(scene: Scene) -> None:
    """A corridor of a house or a hotel: doors, wall lamps, a carpet."""
    vanish, end = (0.5, 0.42), 0.78
    wall = scene.lit((196, 176, 150))
    far = {(x, y): perspective((x, y), vanish, end) for x in (-0.2, 1.2) for y in (-0.08, 1.08)}
    scene.quad([(-0.2, -0.08), (1.2, -0.08), far[1.2, -0.08], far[-0.2, -0.08]], lighter(wall, 0.2))
    scene.quad([(-0.2, 1.08), (1.2, 1.08), far[1.2, 1.08], far[-0.2, 1.08]], scene.lit((104, 78, 62)))
    for x, shade in ((-0.2, 0.0), (1.2, 0.14)):
        scene.quad([(x, -0.08), far[x, -0.08], far[x, 1.08], (x, 1.08)], darker(wall, shade))
        rail = [perspective((x, y), vanish, d) for y, d in ((0.72, 0), (0.72, end), (0.745, end), (0.745, 0))]
        scene.quad(rail, darker(wall, 0.35))
    carpet = [perspective((x, 1.08), vanish, d) for x, d in ((0.14, 0), (0.86, 0), (0.86, end), (0.14, end))]
    scene.quad(carpet, scene.lit((128, 44, 50)))
    scene.quad([far[-0.2, -0.08], far[1.2, -0.08], far[1.2, 1.08], far[-0.2, 1.08]], darker(wall, 0.08))
    scene.box(0.44, 0.38, 0.56, 0.565, scene.lit((112, 76, 56)))
    scene.dot(0.545, 0.48, 0.006, (220, 188, 110))
    for x, start in ((-0.2, 0.26), (1.2, 0.18), (-0.2, 0.56), (1.2, 0.52)):
        span = (1 - start) * 0.24
        corners = ((0.14, start), (0.14, start + span), (1.08, start + span), (1.08, start))
        scene.quad([perspective((x, y), vanish, d) for y, d in corners], scene.lit((112, 76, 56)))
        inner = (
            (0.22, start + span * 0.2),
            (0.22, start + span * 0.8),
            (0.58, start + span * 0.8),
            (0.58, start + span * 0.2),
        )
        scene.quad([perspective((x, y), vanish, d) for y, d in inner], scene.lit((92, 60, 46)))
    for x, depth in ((-0.2, 0.16), (1.2, 0.10), (-0.2, 0.50), (1.2, 0.46), (-0.2, 0.68), (1.2, 0.66)):
        spot = perspective((x, 0.30), vanish, depth)
        size = 0.045 * (1 - depth)
        scene.dot(spot[0], spot[1], size, (255, 236, 196), flat=1.4)
        scene.glow(spot[0], spot[1], 0.36 * (1 - depth), 0.35 + 0.3 * scene.hour.dark)


def garage(scene: Scene) -> None:
    """An underground garage: pillars, tubes of light, a parked car."""
    vanish, end = (0.5, 0.44), 0.80
    stone = scene.lit((128, 132, 136))
    scene.box(0, 0, 1, 1, darker(stone, 0.35))
    scene.quad(
        [
            (-0.3, 1.1),
            (1.3, 1.1),
            perspective((1.3, 1.1), vanish, end),
            perspective((-0.3, 1.1), vanish, end),
        ],
        darker(stone, 0.15),
    )
    scene.quad(
        [
            (-0.3, 0.02),
            (1.3, 0.02),
            perspective((1.3, 0.02), vanish, end),
            perspective((-0.3, 0.02), vanish, end),
        ],
        darker(stone, 0.5),
    )
    for depth in (0.05, 0.38, 0.58, 0.70):
        tube = [
            perspective((x, 0.02), vanish, d)
            for x, d in ((0.40, depth), (0.60, depth), (0.60, depth + 0.03), (0.40, depth + 0.03))
        ]
        scene.quad(tube, (236, 246, 250))
        spot = perspective((0.5, 0.02), vanish, depth)
        scene.glow(spot[0], spot[1], 0.5 * (1 - depth), 0.4, (220, 238, 248))
        lane = [
            perspective((x, 1.1), vanish, d)
            for x, d in ((0.46, depth), (0.54, depth), (0.54, depth + 0.08), (0.46, depth + 0.08))
        ]
        scene.quad(lane, scene.lit((206, 180, 96)))
    for depth in (0.72, 0.58, 0.36, 0.02):
        for side in (-1, 1):
            x = 0.5 + side * 0.50
            foot, head = perspective((x, 1.1), vanish, depth), perspective((x, 0.0), vanish, depth)
            wide = 0.11 * (1 - depth)
            scene.box(
                foot[0] - wide, head[1], foot[0] + wide, foot[1], darker(stone, 0.1 + 0.15 * (side > 0))
            )
            band = foot[1] - (foot[1] - head[1]) * 0.22
            scene.box(
                foot[0] - wide, band, foot[0] + wide, band + 0.03 * (1 - depth), scene.lit((206, 170, 60))
            )
            if depth < 0.4:
                scene.write(
                    "B2",
                    foot[0],
                    head[1] + (foot[1] - head[1]) * 0.55,
                    0.06 * (1 - depth),
                    scene.lit((226, 226, 220)),
                )
    _parked_car(scene)


def _parked_car(scene: Scene) -> None:
    paint = scene.lit((70, 82, 104))
    scene.blob(
        [
            (0.60, 0.70),
            (0.64, 0.63),
            (0.71, 0.615),
            (0.82, 0.62),
            (0.88, 0.69),
            (0.93, 0.72),
            (0.93, 0.775),
            (0.58, 0.775),
        ],
        paint,
    )
    scene.quad([(0.645, 0.69), (0.67, 0.637), (0.80, 0.637), (0.84, 0.69)], (34, 40, 52))
    for x in (0.655, 0.85):
        scene.dot(x, 0.775, 0.036, (22, 22, 26))
        scene.dot(x, 0.775, 0.016, (120, 124, 130))
    scene.glow(0.60, 0.725, 0.06, 0.7, (255, 244, 214))


def kitchen(scene: Scene) -> None:
    wall = scene.lit((210, 206, 194))
    scene.fade(0, 0.64, [(0, darker(wall, 0.15)), (1, wall)])
    wood = scene.lit((156, 118, 84))
    scene.box(0.0, 0.08, 0.34, 0.30, wood)
    scene.box(0.70, 0.08, 1.0, 0.30, wood)
    for left in (0.01, 0.175, 0.71, 0.86):
        scene.box(left + 0.008, 0.09, left + 0.15, 0.29, darker(wood, 0.12))
        scene.box(left + 0.125, 0.235, left + 0.135, 0.265, scene.lit((220, 214, 200)))
    scene.window(0.40, 0.14, 0.64, 0.38)
    for row in range(4):
        for column in range(16):
            tone = lighter(wall, 0.2) if (row + column) % 2 else darker(wall, 0.06)
            scene.box(column * 0.0635, 0.43 + row * 0.027, column * 0.0635 + 0.061, 0.455 + row * 0.027, tone)
    scene.floor(0.74, (150, 136, 120))
    scene.box(0, 0.535, 1, 0.556, scene.lit((72, 74, 80)))
    scene.box(0, 0.556, 1, 0.74, darker(wood, 0.10))
    for index in range(5):
        left = 0.01 + index * 0.2
        scene.box(left, 0.57, left + 0.18, 0.725, darker(wood, 0.24))
        scene.box(left + 0.07, 0.585, left + 0.11, 0.592, scene.lit((220, 214, 200)))
    scene.box(0.06, 0.475, 0.17, 0.535, scene.lit((160, 62, 54)), radius=0.02)
    scene.line([(0.115, 0.475), (0.115, 0.462)], (40, 36, 36), 0.02)
    for x, tall in ((0.74, 0.07), (0.80, 0.05), (0.86, 0.08)):
        scene.box(x, 0.535 - tall, x + 0.035, 0.535, scene.lit((120, 146, 132)), radius=0.008)
    table = lighter(wood, 0.15)
    scene.quad([(0.14, 0.80), (0.86, 0.80), (1.0, 0.875), (0.0, 0.875)], table)
    scene.box(0.0, 0.875, 1.0, 0.893, darker(table, 0.3))
    scene.canvas.ellipse(
        scene.at(0.66, 0.835), (scene.size[0] * 0.09, scene.size[1] * 0.012), (238, 236, 230)
    )
    scene.box(0.30, 0.79, 0.345, 0.835, (214, 232, 240, 150), radius=0.006)
    scene.pendant(0.52, 0.12, size=0.08)


def office(scene: Scene) -> None:
    """A manager's office before a city."""
    wall = scene.lit((92, 98, 112))
    scene.fade(0, 0.66, [(0, darker(wall, 0.2)), (1, wall)])
    scene.window(0.10, 0.10, 0.78, 0.56, panes=4, frame=(54, 58, 68))
    scene.floor(0.66, (108, 92, 82))
    shelf = scene.lit((82, 62, 52))
    scene.box(0.84, 0.12, 1.0, 0.68, shelf)
    for row in range(5):
        top = 0.14 + row * 0.105
        scene.box(0.855, top, 1.0, top + 0.09, darker(shelf, 0.45))
        x = 0.86
        while x < 0.99:
            wide = scene.chance.uniform(0.010, 0.022)
            book = scene.chance.choice(
                ((150, 70, 62), (66, 92, 120), (176, 150, 96), (92, 110, 92), (200, 196, 188))
            )
            scene.box(x, top + scene.chance.uniform(0.012, 0.035), x + wide, top + 0.09, scene.lit(book))
            x += wide + 0.003
    scene.plant(0.06, 0.70, size=0.20)
    desk = scene.lit((122, 84, 62))
    scene.quad([(0.20, 0.70), (0.82, 0.70), (0.94, 0.765), (0.10, 0.765)], lighter(desk, 0.16))
    scene.box(0.10, 0.765, 0.94, 0.785, darker(desk, 0.15))
    scene.box(0.14, 0.785, 0.90, 0.96, darker(desk, 0.32))
    scene.box(0.56, 0.60, 0.76, 0.695, (26, 28, 36))
    scene.box(0.568, 0.605, 0.752, 0.688, mix((60, 92, 132), scene.hour.lamp, 0.15))
    scene.quad([(0.645, 0.695), (0.675, 0.695), (0.69, 0.72), (0.63, 0.72)], (40, 42, 50))
    scene.quad([(0.26, 0.722), (0.40, 0.722), (0.42, 0.74), (0.26, 0.742)], (238, 236, 230))
    scene.line([(0.30, 0.70), (0.27, 0.65), (0.34, 0.625)], (44, 44, 50), 0.010)
    scene.quad([(0.31, 0.615), (0.37, 0.612), (0.395, 0.642), (0.32, 0.646)], (58, 92, 84))
    scene.glow(0.36, 0.67, 0.22, 0.30 + 0.4 * scene.hour.dark)


def living_room(scene: Scene) -> None:
    wall = scene.lit((206, 190, 170))
    scene.fade(0, 0.64, [(0, darker(wall, 0.16)), (1, wall)])
    scene.window(0.14, 0.12, 0.54, 0.46)
    scene.curtains(0.12, 0.09, 0.56, 0.60, (128, 96, 92))
    scene.floor(0.64, (146, 112, 84))
    scene.box(0, 0.626, 1, 0.64, lighter(wall, 0.4))
    for x, y, wide, tall in ((0.68, 0.16, 0.11, 0.075), (0.82, 0.14, 0.12, 0.11), (0.69, 0.26, 0.09, 0.07)):
        scene.box(x, y, x + wide, y + tall, scene.lit((70, 54, 46)))
        scene.box(
            x + 0.010,
            y + 0.007,
            x + wide - 0.010,
            y + tall - 0.007,
            scene.lit(scene.chance.choice(((206, 170, 130), (130, 156, 166), (176, 120, 108)))),
        )
    scene.canvas.ellipse(
        scene.at(0.5, 0.86), (scene.size[0] * 0.46, scene.size[1] * 0.075), scene.lit((126, 70, 66))
    )
    scene.canvas.ellipse(
        scene.at(0.5, 0.86), (scene.size[0] * 0.38, scene.size[1] * 0.058), scene.lit((158, 100, 84))
    )
    sofa = scene.lit((84, 108, 112))
    scene.box(0.16, 0.555, 0.86, 0.72, darker(sofa, 0.12), radius=0.05)
    scene.box(0.10, 0.60, 0.24, 0.765, sofa, radius=0.045)
    scene.box(0.78, 0.60, 0.92, 0.765, darker(sofa, 0.20), radius=0.045)
    for left in (0.225, 0.505):
        scene.box(left, 0.645, left + 0.275, 0.715, lighter(sofa, 0.12), radius=0.03)
    scene.box(0.22, 0.705, 0.80, 0.765, darker(sofa, 0.08))
    scene.quad([(0.26, 0.60), (0.36, 0.585), (0.385, 0.655), (0.28, 0.665)], scene.lit((206, 158, 92)))
    scene.line([(0.945, 0.76), (0.945, 0.40)], (52, 46, 46), 0.008)
    scene.quad(
        [(0.90, 0.345), (0.99, 0.345), (1.02, 0.41), (0.87, 0.41)], mix((240, 222, 186), scene.hour.lamp, 0.5)
    )
    scene.glow(0.945, 0.40, 0.42, 0.32 + 0.4 * scene.hour.dark)
    scene.plant(0.055, 0.70, size=0.17)


def bedroom(scene: Scene) -> None:
    wall = scene.lit((168, 172, 190))
    scene.fade(0, 0.62, [(0, darker(wall, 0.18)), (1, wall)])
    scene.window(0.58, 0.10, 0.90, 0.44)
    scene.curtains(0.55, 0.08, 0.93, 0.58, (120, 112, 150))
    scene.floor(0.62, (126, 104, 92))
    head = scene.lit((96, 76, 78))
    scene.box(0.04, 0.44, 0.60, 0.66, head, radius=0.03)
    scene.box(0.06, 0.575, 0.58, 0.70, scene.lit((226, 222, 216)), radius=0.03)
    for left in (0.09, 0.33):
        scene.box(left, 0.545, left + 0.22, 0.625, scene.lit((242, 240, 236)), radius=0.035)
    quilt = scene.lit((112, 126, 160))
    scene.quad([(0.05, 0.655), (0.59, 0.655), (0.70, 0.86), (-0.06, 0.86)], quilt)
    scene.quad([(0.05, 0.655), (0.59, 0.655), (0.605, 0.685), (0.035, 0.685)], lighter(quilt, 0.3))
    scene.quad([(-0.06, 0.86), (0.70, 0.86), (0.69, 0.90), (-0.06, 0.90)], darker(quilt, 0.25))
    scene.box(0.66, 0.60, 0.80, 0.715, scene.lit((110, 84, 68)))
    scene.line([(0.73, 0.60), (0.73, 0.56)], (60, 54, 52), 0.012)
    scene.quad(
        [(0.695, 0.515), (0.765, 0.515), (0.785, 0.562), (0.675, 0.562)],
        mix((244, 226, 190), scene.hour.lamp, 0.4),
    )
    scene.glow(0.73, 0.555, 0.34, 0.3 + 0.45 * scene.hour.dark)
    scene.box(0.16, 0.16, 0.44, 0.30, scene.lit((74, 66, 70)))
    scene.box(0.172, 0.167, 0.428, 0.293, scene.lit((196, 160, 150)))


def cafe(scene: Scene) -> None:
    brick = scene.lit((142, 92, 76))
    scene.box(0, 0, 1, 0.66, darker(brick, 0.10))
    for row in range(34):
        y = row * 0.0195
        for column in range(9):
            x = column * 0.125 - (0.06 if row % 2 else 0)
            tone = mix(brick, (100, 66, 58), scene.chance.uniform(0, 0.4))
            scene.box(x, y, x + 0.120, y + 0.017, tone)
    scene.window(0.04, 0.16, 0.40, 0.52, panes=2, frame=(60, 48, 42))
    scene.box(0.50, 0.14, 0.94, 0.32, scene.lit((44, 46, 44)))
    scene.write("COFFEE", 0.72, 0.172, 0.040, (236, 226, 204))
    for index, text in enumerate(("美式 22", "拿铁 28", "摩卡 30")):
        scene.write(text, 0.72, 0.212 + index * 0.034, 0.026, (206, 198, 180))
    wood = scene.lit((124, 84, 58))
    scene.box(0.46, 0.37, 1.0, 0.382, wood)
    for index in range(9):
        x = 0.49 + index * 0.056
        tone = scene.chance.choice(((150, 90, 56), (220, 214, 204), (86, 110, 100), (60, 52, 50)))
        scene.box(x, 0.37 - scene.chance.uniform(0.03, 0.05), x + 0.030, 0.37, scene.lit(tone))
    scene.floor(0.66, (96, 78, 70))
    scene.box(0.44, 0.50, 1.0, 0.522, lighter(wood, 0.25))
    scene.box(0.46, 0.522, 1.0, 0.70, darker(wood, 0.25))
    for index in range(7):
        scene.line([(0.50 + index * 0.08, 0.53), (0.50 + index * 0.08, 0.69)], darker(wood, 0.5), 0.003)
    scene.box(0.80, 0.425, 0.95, 0.50, scene.lit((176, 178, 180)))
    scene.box(0.82, 0.445, 0.93, 0.482, (46, 48, 52))
    for x in (0.20, 0.52, 0.84):
        scene.pendant(x, 0.13 + 0.02 * (x > 0.5))
    scene.canvas.ellipse(
        scene.at(0.24, 0.80), (scene.size[0] * 0.24, scene.size[1] * 0.034), darker(wood, 0.1)
    )
    scene.canvas.ellipse(
        scene.at(0.24, 0.795), (scene.size[0] * 0.24, scene.size[1] * 0.034), lighter(wood, 0.20)
    )
    scene.box(0.22, 0.80, 0.26, 0.98, (44, 40, 40))
    scene.box(0.20, 0.762, 0.275, 0.796, scene.lit((240, 238, 232)), radius=0.012)
    scene.canvas.ellipse(
        scene.at(0.2375, 0.763), (scene.size[0] * 0.036, scene.size[1] * 0.006), scene.lit((92, 60, 42))
    )


def hall(scene: Scene) -> None:
    """A banquet hall: columns, drapes, chandelier, red carpet."""
    wall = scene.lit((188, 158, 118))
    scene.fade(0, 0.64, [(0, darker(wall, 0.35)), (1, wall)])
    for left in (0.0, 0.22, 0.66, 0.88):
        scene.box(left, 0.05, left + 0.12, 0.64, lighter(wall, 0.16))
        for groove in range(3):
            scene.box(
                left + 0.02 + groove * 0.032, 0.07, left + 0.03 + groove * 0.032, 0.63, darker(wall, 0.08)
            )
        scene.box(left - 0.012, 0.04, left + 0.132, 0.062, lighter(wall, 0.35))
    drape = scene.lit((140, 34, 44))
    scene.box(0.36, 0.12, 0.64, 0.64, darker(drape, 0.25))
    for fold in range(8):
        x = 0.36 + fold * 0.035
        scene.quad([(x, 0.12), (x + 0.02, 0.12), (x + 0.024, 0.64), (x - 0.003, 0.64)], drape)
    scene.floor(0.64, (150, 112, 84))
    scene.quad([(0.42, 0.64), (0.58, 0.64), (0.92, 1.0), (0.08, 1.0)], scene.lit((158, 30, 42)))
    scene.quad([(0.42, 0.64), (0.428, 0.64), (0.13, 1.0), (0.08, 1.0)], scene.lit((214, 176, 96)))
    scene.quad([(0.572, 0.64), (0.58, 0.64), (0.92, 1.0), (0.87, 1.0)], scene.lit((214, 176, 96)))
    for x in (0.08, 0.92):
        scene.canvas.ellipse(
            scene.at(x, 0.72), (scene.size[0] * 0.20, scene.size[1] * 0.026), scene.lit((240, 234, 222))
        )
        scene.quad(
            [(x - 0.20, 0.72), (x + 0.20, 0.72), (x + 0.17, 0.84), (x - 0.17, 0.84)],
            scene.lit((226, 216, 202)),
        )
        for dx in (-0.05, 0.0, 0.05):
            scene.dot(x + dx, 0.695 - abs(dx) * 0.1, 0.035, scene.lit((206, 96, 110)))
    scene.line([(0.5, 0), (0.5, 0.08)], (120, 96, 60), 0.006)
    for ring, (y, wide, count) in enumerate(((0.10, 0.20, 9), (0.13, 0.13, 7), (0.155, 0.06, 4))):
        scene.canvas.ellipse(scene.at(0.5, y), (wide * scene.size[0], 0.006 * scene.size[1]), (196, 160, 92))
        for index in range(count):
            x = 0.5 - wide + 2 * wide * index / (count - 1)
            scene.dot(x, y + 0.010, 0.011, (255, 246, 220))
            scene.glow(x, y + 0.01, 0.06 + 0.01 * ring, 0.5)
    scene.glow(0.5, 0.13, 0.62, 0.5)


def classroom(scene: Scene) -> None:
    wall = scene.lit((214, 216, 204))
    scene.fade(0, 0.60, [(0, darker(wall, 0.12)), (1, wall)])
    scene.box(0.20, 0.16, 0.98, 0.44, scene.lit((120, 92, 66)))
    scene.box(0.212, 0.168, 0.968, 0.43, scene.lit((46, 82, 70)))
    scene.write("期末冲刺", 0.60, 0.22, 0.070, (226, 232, 224))
    scene.write("y = ax² + bx + c", 0.60, 0.30, 0.042, (206, 216, 208))
    scene.window(-0.06, 0.12, 0.13, 0.48, panes=2)
    scene.floor(0.60, (150, 134, 112))
    wood = scene.lit((190, 150, 104))
    for row, (y, wide) in enumerate(((0.66, 0.15), (0.74, 0.20), (0.85, 0.27))):
        for column in range(3):
            x = 0.5 + (column - 1) * (wide + 0.10 + row * 0.03)
            scene.quad(
                [
                    (x - wide / 2, y),
                    (x + wide / 2, y),
                    (x + wide * 0.55, y + 0.022),
                    (x - wide * 0.55, y + 0.022),
                ],
                lighter(wood, 0.1),
            )
            scene.box(x - wide * 0.55, y + 0.022, x + wide * 0.55, y + 0.034, darker(wood, 0.2))
            for side in (-0.48, 0.48):
                scene.line([(x + side * wide, y + 0.034), (x + side * wide, y + 0.10)], (92, 96, 100), 0.006)


def car(scene: Scene) -> None:
    """The inside of a car, the road before it."""
    scene.sky(0, 0.5)
    scene.skyline(0.50, 0.22, near=0.3)
    scene.quad([(0, 0.5), (1, 0.5), (1, 0.62), (0, 0.62)], scene.lit((74, 76, 84), indoors=False))
    scene.quad(
        [(0.47, 0.5), (0.53, 0.5), (0.60, 0.62), (0.40, 0.62)], scene.lit((96, 98, 104), indoors=False)
    )
    for _ in range(26):
        x, y = scene.chance.uniform(0, 1), scene.chance.uniform(0.34, 0.55)
        colour = scene.chance.choice(((255, 190, 110), (255, 120, 96), (150, 200, 255), (255, 236, 196)))
        scene.glow(x, y, scene.chance.uniform(0.03, 0.08), 0.25 + 0.55 * scene.hour.dark, colour)
    body: Colour = (26, 26, 32)
    scene.quad([(-0.1, 0), (1.1, 0), (1.1, 0.07), (0.86, 0.10), (0.14, 0.10), (-0.1, 0.07)], body)
    scene.quad([(-0.1, 0), (0.10, 0.08), (0.02, 0.62), (-0.1, 0.66)], body)
    scene.quad([(1.1, 0), (0.90, 0.08), (0.98, 0.62), (1.1, 0.66)], body)
    scene.box(0.38, 0.115, 0.62, 0.155, (18, 18, 22), radius=0.02)
    scene.box(0.395, 0.121, 0.605, 0.148, mix(scene.hour.sky[1][1], (30, 30, 40), 0.4), radius=0.015)
    scene.blob(
        [(-0.1, 0.60), (0.2, 0.575), (0.5, 0.57), (0.8, 0.575), (1.1, 0.60), (1.1, 1.1), (-0.1, 1.1)],
        (40, 40, 48),
    )
    scene.blob([(-0.1, 0.66), (0.5, 0.625), (1.1, 0.66), (1.1, 1.1), (-0.1, 1.1)], (32, 32, 39))
    scene.box(0.40, 0.655, 0.60, 0.735, (18, 20, 26), radius=0.02)
    scene.box(0.41, 0.661, 0.59, 0.729, (54, 92, 120), radius=0.015)
    scene.line([(0.44, 0.71), (0.5, 0.69), (0.52, 0.675), (0.57, 0.668)], (150, 220, 190), 0.006)
    ring = [
        (0.20 + 0.19 * x, 0.76 + 0.105 * y)
        for x, y in (
            (1, 0),
            (0.7, 0.7),
            (0, 1),
            (-0.7, 0.7),
            (-1, 0),
            (-0.7, -0.7),
            (0, -1),
            (0.7, -0.7),
            (1, 0),
        )
    ]
    scene.line(ring, (16, 16, 20), 0.034)
    scene.line([(0.02, 0.77), (0.38, 0.77)], (20, 20, 25), 0.03)
    scene.dot(0.20, 0.77, 0.05, (26, 26, 31))


def study(scene: Scene) -> None:
    """A scholar's study of old: lattice window, scroll, candle."""
    wall = scene.lit((178, 152, 116))
    scene.fade(0, 0.64, [(0, darker(wall, 0.4)), (1, wall)])
    beam = scene.lit((86, 50, 38))
    scene.box(0, 0.05, 1, 0.085, beam)
    for x in (0.0, 0.93):
        scene.box(x, 0, x + 0.07, 0.66, beam)
    _lattice(scene, 0.14, 0.16, 0.52, 0.50, beam)
    scene.box(0.64, 0.13, 0.86, 0.50, scene.lit((232, 222, 200)))
    scene.box(0.63, 0.122, 0.87, 0.138, beam)
    scene.box(0.63, 0.495, 0.87, 0.511, beam)
    ink = scene.lit((70, 74, 80))
    scene.blob([(0.66, 0.38), (0.70, 0.27), (0.745, 0.33), (0.79, 0.22), (0.845, 0.38)], (*ink, 150))
    scene.blob(
        [(0.66, 0.42), (0.73, 0.36), (0.80, 0.40), (0.845, 0.37), (0.845, 0.44), (0.66, 0.44)], (*ink, 110)
    )
    scene.write("山月", 0.685, 0.16, 0.03, ink, vertical=True)
    scene.floor(0.64, (112, 78, 56))
    scene.quad([(0.10, 0.70), (0.74, 0.70), (0.84, 0.755), (0.02, 0.755)], lighter(beam, 0.18))
    scene.box(0.02, 0.755, 0.84, 0.778, darker(beam, 0.15))
    for x in (0.06, 0.76):
        scene.box(x, 0.778, x + 0.04, 0.96, darker(beam, 0.3))
    scene.quad([(0.34, 0.715), (0.58, 0.715), (0.62, 0.742), (0.32, 0.742)], (236, 228, 208))
    for index, book in enumerate(((64, 84, 110), (130, 60, 54), (90, 98, 76))):
        scene.box(0.60 + index * 0.004, 0.70 - index * 0.014, 0.74, 0.713 - index * 0.014, scene.lit(book))
    scene.box(0.195, 0.655, 0.215, 0.718, (226, 212, 188))
    scene.blob([(0.205, 0.622), (0.217, 0.643), (0.205, 0.656), (0.193, 0.643)], (255, 214, 120))
    scene.glow(0.205, 0.64, 0.40, 0.40 + 0.45 * scene.hour.dark, (255, 196, 110))


def _lattice(scene: Scene, left: float, top: float, right: float, bottom: float, wood: Colour) -> None:
    scene.sky(top, bottom, left=left, right=right)
    if scene.hour.name == "night":
        scene.dot((left + right) / 2 + 0.06, top + 0.10, 0.06, (238, 236, 220))
        scene.glow((left + right) / 2 + 0.06, top + 0.10, 0.2, 0.4, (200, 214, 255))
    for index in range(7):
        x = left + (right - left) * index / 6
        scene.line([(x, top), (x, bottom)], wood, 0.010)
    for index in range(9):
        y = top + (bottom - top) * index / 8
        scene.line([(left, y), (right, y)], wood, 0.010)
    scene.box(left - 0.02, top - 0.012, right + 0.02, top, darker(wood, 0.2))
    scene.box(left - 0.02, bottom, right + 0.02, bottom + 0.012, darker(wood, 0.2))


def room(scene: Scene) -> None:
    """A plain room, for places nothing more is known of: a window's light across a wall."""
    tone = scene.chance.choice(((176, 182, 178), (190, 176, 158), (160, 170, 186), (184, 166, 166)))
    wall = scene.lit(tone)
    scene.fade(0, 0.66, [(0, darker(wall, 0.22)), (1, wall)])
    scene.floor(0.66, (124, 106, 92))
    scene.box(0, 0.648, 1, 0.66, lighter(wall, 0.35))
    flip = scene.chance.random() < 0.5
    left = 0.60 if flip else 0.10
    scene.window(left, 0.14, left + 0.30, 0.46)
    light = (*mix(scene.hour.lamp, (255, 255, 255), 0.3), 60)
    slant = -0.34 if flip else 0.34
    scene.quad(
        [
            (left + slant, 0.22),
            (left + 0.26 + slant, 0.30),
            (left + 0.30 + slant * 1.3, 0.66),
            (left + slant * 1.3, 0.60),
        ],
        light,
    )
    door = scene.lit((128, 96, 74))
    x = 0.12 if flip else 0.64
    scene.box(x - 0.015, 0.24, x + 0.255, 0.66, lighter(door, 0.25))
    scene.box(x, 0.25, x + 0.24, 0.66, door)
    for top, bottom in ((0.275, 0.42), (0.445, 0.63)):
        scene.box(x + 0.035, top, x + 0.205, bottom, darker(door, 0.18))
    scene.dot(x + 0.215, 0.46, 0.012, (214, 190, 120))
    scene.plant(0.5 if flip else 0.52, 0.69, size=0.13)
    scene.pendant(0.48, 0.12)
