"""What a finished film is handed over with: gathered from versions, stored by hash, listed in a manifest."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from PIL import Image

from shortdrama_pipeline.media import cover, page, stills, subtitles
from shortdrama_pipeline.media.object_store import ObjectStore
from shortdrama_pipeline.media.pack import PackedFile, read_files, script_text, shot_list, suffix_of
from shortdrama_pipeline.media.page import FileRow, GateRow, PageData, ShotRow
from shortdrama_pipeline.media.render import Film
from shortdrama_pipeline.rules import timeline as timelines
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.rules.renders import RenderRequest
from shortdrama_pipeline.rules.shots import Shot
from shortdrama_pipeline.rules.stages import ORDER
from shortdrama_pipeline.rules.timeline import SPOKEN, Timeline, VideoClip, ms_of
from shortdrama_pipeline.rules.times import rfc3339
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import gates_of
from shortdrama_pipeline.stages.view import View
from shortdrama_pipeline.store import renders, versions
from shortdrama_pipeline.store.versions import Version

BYTES_MAX = 16 * 10**9
_COVER_WEIGHTS = {"medium": 8, "close": 6}  # a person near enough to know, best with air around
_COVER_WEIGHT = 4  # of any other size of shot
_TEXT = {
    "srt": "application/x-subrip",
    "ass": "text/x-ssa",
    "vtt": "text/vtt",
    "csv": "text/csv",
    "md": "text/markdown",
}


@dataclass(frozen=True, slots=True)
class Sources:
    """What the pack is made from: the exact versions the timeline names, and who they are."""

    view: View
    timeline: Timeline
    timeline_version: Version
    used: Mapping[str, Version]


def store_deliverables(
    studio: Studio, sources: Sources, request: RenderRequest, film: Film, *, scratch: Path
) -> list[PackedFile]:
    """Make everything beside the film, and put all of it into the object store."""
    store = _Store(studio.objects)
    timeline = sources.timeline
    store.file("film", "film.mp4", film.film, "video/mp4")
    if film.clean is not None:
        store.file("film_clean", "film_clean.mp4", film.clean, "video/mp4")
    width, height = request.width, request.height
    ass = subtitles.to_ass(
        timeline.subtitles, width=width, height=height, language=timeline.language, title=timeline.title
    )
    store.text("subtitles", "subtitles.srt", subtitles.to_srt(timeline.subtitles))
    store.text("subtitles", "subtitles.ass", ass)
    store.text("subtitles", "subtitles.vtt", subtitles.to_vtt(timeline.subtitles))
    _store_pictures(store, sources, studio, scratch)
    store.file("dialogue", "audio/dialogue.wav", film.dialogue, "audio/wav")
    store.text("shot_list", "shots.csv", shot_list(sources.view.shots, timeline))
    if sources.view.script is not None:
        store.text("script", "script.md", script_text(sources.view.script))
    for clip in timeline.video:
        store.known("clip", f"clips/{clip.shot_id}", clip.sha256, _media_type(sources.used[clip.version_id]))
    for sound in timeline.audio:
        if sound.role in SPOKEN:
            kind = _media_type(sources.used[sound.version_id])
            store.known("speech", f"speech/{sound.line_id}", sound.sha256, kind)
    return store.files


def _store_pictures(store: "_Store", sources: Sources, studio: Studio, scratch: Path) -> None:
    """One thumbnail per shot, and the cover from the picture that stands best for the film."""
    clips = sources.timeline.video
    sizes = {each.id: each.size for each in sources.view.shots}

    def look(clip: VideoClip) -> tuple[Path, int]:
        picture = stills.middle_picture(studio.objects.path(clip.sha256))
        thumb = stills.save_jpeg(stills.fit(picture, stills.THUMB), scratch / f"thumb_{clip.shot_id}.jpg")
        weight = _COVER_WEIGHTS.get(sizes.get(clip.shot_id, ""), _COVER_WEIGHT)
        return thumb, stills.merit(_without_slate(picture, clip, sources, studio)) * weight

    with ThreadPoolExecutor(len(os.sched_getaffinity(0)), "stills") as pool:
        seen = list(pool.map(look, clips))
    for clip, (thumb, _) in zip(clips, seen, strict=True):
        store.file("thumbnail", f"thumbs/{clip.shot_id}.jpg", thumb, "image/jpeg")
    best = max(zip(clips, seen, strict=True), key=lambda each: each[1][1])[0]
    picture = stills.middle_picture(studio.objects.path(best.sha256))
    drawn = cover.draw_cover(
        _without_slate(picture, best, sources, studio),
        title=sources.timeline.title or sources.view.episode_id,
        below=sources.view.episode_id,
        language=sources.timeline.language,
    )
    store.file("cover", "cover.jpg", stills.save_jpeg(drawn, scratch / "cover.jpg"), "image/jpeg")


def _without_slate(picture: Image.Image, clip: VideoClip, sources: Sources, studio: Studio) -> Image.Image:
    """Leave out where the provider of the clip writes words of its own, as its contract says."""
    binding = studio.bindings.get(str(sources.used[clip.version_id].provenance.get("binding_id")))
    adapter = None if binding is None else studio.adapters.get(binding.protocol)
    percent = 0 if adapter is None else adapter.contract.slate_percent
    return stills.below(picture, percent) if percent else picture


class _Store:
    """Collects what was put into the object store, as manifest lines."""

    def __init__(self, objects: ObjectStore) -> None:
        self.objects = objects
        self.files: list[PackedFile] = []

    def file(self, role: str, path: str, source: Path, media_type: str) -> None:
        sha256, size = self.objects.put_file(source, bytes_max=BYTES_MAX)
        self.files.append(PackedFile(role, path, sha256, size, media_type))

    def text(self, role: str, path: str, text: str) -> None:
        if text.strip():
            sha256, size = self.objects.put([text.encode()], bytes_max=BYTES_MAX)
            self.files.append(PackedFile(role, path, sha256, size, _TEXT[path.rpartition(".")[2]]))

    def known(self, role: str, path: str, sha256: str, media_type: str) -> None:
        size = self.objects.path(sha256).stat().st_size
        self.files.append(PackedFile(role, path + suffix_of(media_type), sha256, size, media_type))


def make_manifest(
    sources: Sources,
    request: RenderRequest,
    film: Film,
    files: list[PackedFile],
    *,
    plan_id: str,
    digest: str,
) -> dict[str, object]:
    """Return the content of the ExportVersion: whole numbers and text only."""
    heard = film.loudness
    return {
        "schema": 1,
        "episode_id": sources.view.episode_id,
        "title": sources.timeline.title,
        "language": sources.timeline.language,
        "ai_generated": True,
        "render_plan_id": plan_id,
        "render_digest": digest,
        "timeline_version_id": sources.timeline_version.version_id,
        "tier": request.tier,
        "burned": request.burned,
        "width": film.width,
        "height": film.height,
        "frame_rate": list(film.frame_rate),
        "frames": film.frames,
        "duration_ms": film.duration_ms,
        "loudness_milli_lufs": None if heard.silent else heard.milli_lufs,
        "true_peak_milli_db": None if heard.silent else heard.true_peak_milli_db,
        "av_difference_us": film.av_difference_us,
        "provenance": [_origin(sources.used[each]) for each in sorted(sources.used)],
        "files": [each.to_json() for each in files],
    }


def _origin(version: Version) -> dict[str, object]:
    facts = version.provenance
    return {
        "version_id": version.version_id,
        "subject": version.subject,
        "role": version.role,
        "sha256": version.sha256,
        "attempt_id": version.attempt_id,
        "binding_id": facts.get("binding_id"),
        "model": facts.get("product_model"),
        "created_at": rfc3339(version.created_at),
    }


def _media_type(version: Version) -> str:
    media = version.content.get("media")
    kind = media.get("media_type") if isinstance(media, Mapping) else None
    kind = kind or version.content.get("media_type")
    return str(kind or ("video/mp4" if version.role == "video" else "audio/wav"))


def load_sources(tx: sa.Connection, view: View, timeline_version: Version, timeline: Timeline) -> Sources:
    """Load every version the timeline names."""
    ids = [version_id for _, version_id, _ in timelines.files(timeline)]
    return Sources(view, timeline, timeline_version, versions.find_by_ids(tx, ids))


# --- the page -------------------------------------------------------------------------------------


def draw_page(tx: sa.Connection, studio: Studio, sources: Sources, export: Version) -> str:
    """Return the page of an export, with gates and costs as they are now."""
    manifest = export.content
    view, timeline = sources.view, sources.timeline
    zone = ZoneInfo(studio.settings.studio.time_zone)
    files = read_files(manifest)
    currency = studio.settings.studio.currency
    spent = renders.find_spent(tx, view.episode_id)
    stages = [stage for stage in ORDER if any(each[0] == stage for each in spent)]
    rate = manifest["frame_rate"]
    loudness = manifest["loudness_milli_lufs"]
    assert isinstance(rate, list)
    return page.write_page(
        PageData(
            language=timeline.language,
            title=timeline.title or view.episode_id,
            logline="" if view.script is None else view.script.logline,
            episode_id=view.episode_id,
            duration=_length(int(str(manifest["duration_ms"]))),
            size=f"{manifest['width']} × {manifest['height']} · {_rate(rate)} fps",
            loudness="–" if loudness is None else f"{int(str(loudness)) / 1000:.1f} LUFS",
            made=_when(export.created_at, zone),
            film=_path(files, "film"),
            cover=_path(files, "cover"),
            shots=list(_shot_rows(sources, files, spent, currency)),
            gates=_gate_rows(tx, view, zone),
            costs=[(str(each), _total([m for s, _, m in spent if s == each], currency)) for each in stages],
            total=_total([money for _, _, money in spent], currency),
            files=[
                FileRow(each.role, each.path, _bytes(each.bytes))
                for each in files
                if each.role != "thumbnail"
            ],
        )
    )


def _shot_rows(
    sources: Sources, files: list[PackedFile], spent: list[tuple[str, str, Money]], currency: str
) -> Iterator[ShotRow]:
    by_shot: dict[str, Shot] = {each.id: each for each in sources.view.shots}
    paths = {(each.role, Path(each.path).stem): each.path for each in files}
    words = page.WORDS["zh" if sources.timeline.language.startswith("zh") else "en"]
    script = sources.view.script
    names = {each.id: each.name for each in script.characters} if script is not None else {}
    for clip in sources.timeline.video:
        shot = by_shot.get(clip.shot_id)
        lines = [] if shot is None else list(shot.lines)
        subjects = [f"shot:{clip.shot_id}", *(f"line:{line.line_id}" for line in lines)]
        costs = [money for _, subject, money in spent if subject in subjects]
        version = sources.used.get(clip.version_id)
        about = [] if shot is None else [shot.place, shot.time_of_day, shot.action]
        yield ShotRow(
            shot_id=clip.shot_id,
            thumb=paths.get(("thumbnail", clip.shot_id), ""),
            clip=paths.get(("clip", clip.shot_id), ""),
            start=_length(ms_of(clip.start, sources.timeline.frame_rate)),
            length=f"{ms_of(clip.frames, sources.timeline.frame_rate) / 1000:.1f} s",
            about=" · ".join(each for each in about if each),
            lines=[(names.get(line.speaker or "", words.get(line.kind, "")), line.text) for line in lines],
            cost=_total(costs, currency),
            version="" if version is None else f"v{version.number}",
        )


def _gate_rows(tx: sa.Connection, view: View, zone: ZoneInfo) -> list[GateRow]:
    rows = []
    for stage, gate in gates_of(tx, view).items():
        passed = gate.passed
        if passed is None:
            rows.append(GateRow(str(stage), "", "", rights=False, note=""))
        else:
            when = _when(passed.created_at, zone)
            rows.append(
                GateRow(
                    str(stage), passed.actor.partition(":")[2], when, rights=passed.rights, note=passed.note
                )
            )
    return rows


def _total(costs: list[Money], currency: str) -> str:
    sums: dict[str, Money] = {}
    for each in costs:
        sums[each.currency] = sums.get(each.currency, Money(0, each.currency)) + each
    return " + ".join(str(each) for each in sums.values()) or str(Money(0, currency))


def _path(files: list[PackedFile], role: str) -> str:
    return next((each.path for each in files if each.role == role), "")


def _rate(rate: list[int]) -> str:
    return f"{rate[0] / rate[1]:.3f}".rstrip("0").rstrip(".")


def _length(ms: int) -> str:
    seconds = ms // 1000
    return f"{seconds // 60}:{seconds % 60:02d}"


def _bytes(size: int) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size} {unit}"
        size = (size + 500) // 1000
    return f"{size} GB"


def _when(at: datetime, zone: ZoneInfo) -> str:
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M")
