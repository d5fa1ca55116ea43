"""The nine stages by name."""

from collections.abc import Mapping

from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.stages import (
    audio,
    export,
    outline,
    pilot,
    script,
    shots,
    storyboard,
    timeline,
    visual_assets,
)
from shortdrama_pipeline.stages.work import StageWork

CATALOGUE: Mapping[Stage, StageWork] = {
    module.WORK.stage: module.WORK
    for module in (outline, script, visual_assets, storyboard, pilot, shots, audio, timeline, export)
}
