"""The static page beside the film: what was made, from what, who let it through and what it cost.

One file without scripts or anything from elsewhere; it opens from a folder, on a phone or a desk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import jinja2

WORDS: Mapping[str, Mapping[str, str]] = {
    "zh": {
        "shots": "镜头", "line": "台词", "length": "时长", "cost": "费用", "version": "版本",
        "gates": "审批", "costs": "各阶段费用", "files": "下载", "stage": "阶段", "by": "确认人",
        "when": "时间", "total": "合计", "size": "画幅", "loudness": "响度", "film": "成片",
        "open": "未通过", "rights": "已确认权利",
        "ai": "本片内容由人工智能生成。", "script": "剧本", "made": "导出于",
        "no_video": "您的浏览器无法播放此视频。",
        "outline": "故事大纲", "assets": "素材", "storyboard": "分镜", "pilot": "试片", "audio": "声音",
        "timeline": "剪辑", "export": "导出", "narration": "旁白", "inner": "内心",
        "role_film": "成片", "role_film_clean": "无字幕成片", "role_subtitles": "字幕", "role_cover": "封面",
        "role_dialogue": "对白轨", "role_clip": "镜头素材", "role_speech": "台词录音",
        "role_shot_list": "镜头表", "role_script": "剧本", "role_manifest": "清单",
    },
    "en": {
        "shots": "Shots", "line": "Line", "length": "Length", "cost": "Cost", "version": "Version",
        "gates": "Gates", "costs": "Cost by stage", "files": "Files", "stage": "Stage", "by": "Passed by",
        "when": "When", "total": "Total", "size": "Picture", "loudness": "Loudness", "film": "Film",
        "open": "not passed", "rights": "rights cleared", "ai": "The content of this film is AI-generated.",
        "script": "Script", "made": "Exported", "no_video": "Your browser cannot play this video.",
        "outline": "Outline", "assets": "Assets", "storyboard": "Storyboard", "pilot": "Pilot",
        "audio": "Audio", "timeline": "Timeline", "export": "Export", "narration": "Narration",
        "inner": "Inner voice", "role_film": "Film",
        "role_film_clean": "Film without subtitles", "role_subtitles": "Subtitles", "role_cover": "Cover",
        "role_dialogue": "Dialogue stem", "role_clip": "Clip", "role_speech": "Speech",
        "role_shot_list": "Shot list", "role_script": "Script", "role_manifest": "Manifest",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShotRow:
    """One shot as a person reads it. `lines` are (speaker, text)."""

    shot_id: str
    thumb: str
    start: str
    length: str
    about: str
    lines: Sequence[tuple[str, str]]
    cost: str
    version: str
    clip: str


@dataclass(frozen=True, slots=True)
class GateRow:
    stage: str
    by: str
    when: str
    rights: bool
    note: str


@dataclass(frozen=True, slots=True)
class FileRow:
    role: str
    path: str
    size: str


@dataclass(frozen=True, slots=True)
class PageData:
    """Everything the page shows, as text."""

    language: str
    title: str
    logline: str
    episode_id: str
    duration: str
    size: str
    loudness: str
    made: str
    film: str
    cover: str
    shots: Sequence[ShotRow]
    gates: Sequence[GateRow]
    costs: Sequence[tuple[str, str]]
    total: str
    files: Sequence[FileRow]


def write_page(data: PageData) -> str:
    """Return the page as HTML; every text of it is escaped."""
    words = WORDS["zh" if data.language.startswith("zh") else "en"]
    template = files("shortdrama_pipeline.media").joinpath("page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(template).render(page=data, words=words)
