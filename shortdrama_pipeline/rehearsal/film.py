"""Animatics: a camera move over a drawn frame, exact to the frame."""

import subprocess
from pathlib import Path

import imageio_ffmpeg

from shortdrama_pipeline.rehearsal.book import Json


def film(params: Json, inputs: Path, target: Path) -> int:  # noqa: ARG001
    """Write the mp4 and return its length in milliseconds."""
    rate = params["frame_rate"]
    assert isinstance(rate, list)
    colour = f"color=c=0x334455:s={params['width']}x{params['height']}:r={rate[0]}/{rate[1]}"
    source = ["-f", "lavfi", "-i", colour, "-frames:v", str(params["duration_frames"])]
    encode = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p"]
    program = imageio_ffmpeg.get_ffmpeg_exe()
    subprocess.run([program, "-y", *source, *encode, str(target)], check=True, capture_output=True)
    return int(str(params["duration_frames"])) * 1000 * int(rate[1]) // int(rate[0])
