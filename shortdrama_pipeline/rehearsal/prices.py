"""What the embedded provider charges, in micro-units of XRH (rehearsal credits); no float anywhere.

    text    one answer                                      200,000     0.20 XRH
    image   one picture, any size                            40,000     0.04 XRH
    speech  one character of the stripped text                  300     0.0003 XRH
    video   one second, by frames, rounded up to a micro    100,000     0.10 XRH

`price_micros` is both the estimate and the charge: there is no other sum in this server.
"""

from collections.abc import Mapping

CURRENCY = "XRH"
TEXT_MICROS = 200_000
IMAGE_MICROS = 40_000
SPEECH_CHARACTER_MICROS = 300
VIDEO_SECOND_MICROS = 100_000


def price_micros(kind: str, params: Mapping[str, object]) -> int:
    """Return the price of one request. `params` are checked; `kind` is text, image, speech or video."""
    match kind:
        case "text":
            return TEXT_MICROS
        case "image":
            return IMAGE_MICROS
        case "speech":
            return SPEECH_CHARACTER_MICROS * len(str(params["text"]).strip())
        case "video":
            numerator, denominator = _rate(params["frame_rate"])
            frames = int(str(params["duration_frames"]))
            return -(-VIDEO_SECOND_MICROS * frames * denominator // numerator)
        case _:
            raise ValueError(f"No price for kind {kind!r}")


def _rate(value: object) -> tuple[int, int]:
    assert isinstance(value, list | tuple)
    return int(value[0]), int(value[1])
