"""The nine stages in their order."""

from assets.audio import audio
from assets.export import export
from assets.outline import outline
from assets.pilot import pilot
from assets.script import script
from assets.shots import shots
from assets.storyboard import storyboard
from assets.timeline import timeline
from assets.visual_assets import visual_assets

STAGES = [outline, script, visual_assets, storyboard, pilot, shots, audio, timeline, export]
