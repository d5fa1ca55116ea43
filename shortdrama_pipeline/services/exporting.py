"""The last stage: a passed timeline becomes a film and its hand-over pack (P-2.9, §12).

One RenderJob per frozen plan, worked on under a lease on the database's clock: whoever asks for the
same export waits for it, and takes over when its owner fell silent. Nothing here reaches a provider.
"""

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from shortdrama_pipeline.errors import NotReady, Outside, ShortdramaError, StaleState
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.media import pack, render, subtitles
from shortdrama_pipeline.media.fonts import require_glyphs
from shortdrama_pipeline.media.object_store import RESTORE_MEDIA, outside_of_disk
from shortdrama_pipeline.media.probe import probe
from shortdrama_pipeline.rules import renders as rules
from shortdrama_pipeline.rules import timeline as timelines
from shortdrama_pipeline.rules.renders import RenderRequest
from shortdrama_pipeline.rules.states import MediaState, Stage, VersionKind
from shortdrama_pipeline.services.channels import channels_of
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import bring_up_to
from shortdrama_pipeline.services.packing import (
    Sources,
    draw_page,
    load_sources,
    make_manifest,
    store_deliverables,
)
from shortdrama_pipeline.stages.view import load_view
from shortdrama_pipeline.store import audit, media, renders, versions
from shortdrama_pipeline.store.media import Judgement, StagedFile
from shortdrama_pipeline.store.renders import RenderJob
from shortdrama_pipeline.store.selections import find_selected, select_version
from shortdrama_pipeline.store.versions import Version, record_version

LEASE_MS = 20_000
HEARTBEAT_S = 5
WAIT_S = 1
DEFAULT_TIER = "standard"
DEFAULT_RATIO = "9:16"

Report = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Export:
    """An ExportVersion with its pack on disk. `created` is False when it had been rendered before."""

    version: Version
    folder: Path
    created: bool

    def to_json(self) -> dict[str, object]:
        """Return the document of `export show`."""
        content = self.version.content
        rate = content["frame_rate"]
        loudness = content["loudness_milli_lufs"]
        assert isinstance(rate, list)
        manifest = pack.read_manifest(self.folder.parent) or content
        return {
            "episode_id": self.version.episode_id,
            "export_version": self.version.version_id,
            "folder": str(self.folder),
            "files": [
                {"role": f.role, "path": str(self.folder / f.path), "sha256": f.sha256, "bytes": f.bytes}
                for f in pack.read_files(manifest)
            ],
            "tier": content["tier"],
            "duration_ms": content["duration_ms"],
            "width": content["width"],
            "height": content["height"],
            "fps": rate[0] // rate[1] if rate[0] % rate[1] == 0 else round(rate[0] / rate[1], 3),
            "loudness_lufs": None if loudness is None else int(str(loudness)) / 1000,
            "av_difference_us": content["av_difference_us"],
            "render_digest": content["render_digest"],
            "created": self.created,
        }


def build_export(
    studio: Studio,
    episode_id: str,
    *,
    actor: str,
    tier: str | None = None,
    ratio: str | None = None,
    frame_rate: tuple[int, int] = (24, 1),
    burned: bool = True,
    progress: Report | None = None,
) -> Export:
    """Render the passed timeline, or return the export that was rendered before, with its pack in place.

    Without `tier` and `ratio` the chosen export of this timeline stands; else they are standard and
    9:16. Raises GateClosed, NotReady (P-12.2) before anything is done; Outside if the disk is full.
    """
    bring_up_to(studio, episode_id, Stage.EXPORT)
    sources = _load(studio, episode_id)
    chosen = _standing(studio, sources) if tier is None and ratio is None else None
    if chosen is not None:
        return Export(chosen, _place_pack(studio, sources, chosen), created=False)
    request = rules.request_render(
        ratio or DEFAULT_RATIO, tier=tier or DEFAULT_TIER, frame_rate=frame_rate, burned=burned
    )
    _check(studio, sources, request)
    plan_id = _freeze(studio, sources, request, actor=actor)
    while True:
        with studio.db.begin() as tx:
            job = renders.load_job(tx, plan_id)
            token = renders.claim_job(tx, job.render_job_id, owner=_owner(), lease_ms=LEASE_MS)
        if token is not None:
            with suppress(StaleState):  # taken over while this process stood still: the other one delivers
                version = _work(studio, sources, request, job, token, actor=actor, progress=progress)
                return Export(version, _place_pack(studio, sources, version), created=True)
        elif job.version_id is not None:
            version = _choose(studio, job.version_id, actor=actor)
            return Export(version, _place_pack(studio, sources, version), created=False)
        if progress is not None:
            progress("render", 0, 1)
        threading.Event().wait(WAIT_S)


def show_export(studio: Studio, episode_id: str) -> Export:
    """Return the chosen export; its pack is laid again if it is not there. Raises NotReady for none."""
    with studio.db.read() as tx:
        view = load_view(tx, episode_id, channels=channels_of(studio))
        version = find_selected(tx, episode_id, "export")
        if version is None:
            raise NotReady(
                f"Episode {episode_id} has no export yet",
                hint=f"Build it: `shortdrama export build {episode_id}`",
                episode_id=episode_id,
            )
        cut = versions.load_version(tx, str(version.content["timeline_version_id"]))
        sources = load_sources(tx, view, cut, timelines.from_json(cut.content))
    return Export(version, _place_pack(studio, sources, version), created=False)


def verify_export(studio: Studio, episode_id: str) -> dict[str, object]:
    """Hash every file of the pack again, against the manifest and the ExportVersion."""
    with studio.db.read() as tx:
        version = find_selected(tx, episode_id, "export")
    place = _place(studio, episode_id)
    manifest = pack.read_manifest(place)
    if version is None or manifest is None:
        raise NotReady(
            f"Episode {episode_id} has no export to verify",
            hint=f"Build it: `shortdrama export build {episode_id}`",
            episode_id=episode_id,
        )
    problems = pack.find_problems(place, manifest)
    known = {(each.path, each.sha256) for each in pack.read_files(version.content)}
    listed = {(each.path, each.sha256) for each in pack.read_files(manifest) if each.path != pack.PAGE}
    problems += [f"{path}: not as in {version.version_id}" for path, _ in sorted(known ^ listed)]
    return {"ok": not problems, "checked": len(pack.read_files(manifest)), "problems": problems}


# --- before the work ------------------------------------------------------------------------------


def _load(studio: Studio, episode_id: str) -> Sources:
    with studio.db.read() as tx:
        view = load_view(tx, episode_id, channels=channels_of(studio))
        cut = view.version("timeline")
        assert cut is not None  # its gate is passed
        return load_sources(tx, view, cut, timelines.from_json(cut.content))


def _standing(studio: Studio, sources: Sources) -> Version | None:
    """Return the chosen export if it was made from the chosen timeline."""
    with studio.db.read() as tx:
        version = find_selected(tx, sources.view.episode_id, "export")
    if version is None or version.content["timeline_version_id"] != sources.timeline_version.version_id:
        return None
    return version


def _check(studio: Studio, sources: Sources, request: RenderRequest) -> None:
    """Refuse whatever would fail later (P-12.2): shape, letters, files."""
    timeline = sources.timeline
    timelines.check(timeline, shot_ids={each.id for each in sources.view.shots})
    rules.check_request(request)
    subtitles.require_glyphs(timeline.subtitles)
    require_glyphs(timeline.title, place="the title")
    with studio.db.read() as tx:
        wanted = [sha256 for _, _, sha256 in timelines.files(timeline)]
        states = media.load_states(tx, wanted)
    for purpose, version_id, sha256 in timelines.files(timeline):
        if states.get(sha256) != MediaState.READY or not studio.objects.has(sha256):
            raise NotReady(
                f"The {purpose} {version_id} has no usable file",
                hint=RESTORE_MEDIA,
                version_id=version_id,
                sha256=sha256,
                state=states.get(sha256, "missing"),
            )


def _freeze(studio: Studio, sources: Sources, request: RenderRequest, *, actor: str) -> str:
    cut = sources.timeline_version
    body = rules.plan_body(cut.version_id, cut.digest, sources.timeline, request)
    digest = rules.plan_digest(body)
    with studio.db.begin() as tx:
        plan_id = renders.record_plan(
            tx,
            episode_id=sources.view.episode_id,
            timeline_version_id=cut.version_id,
            digest=digest,
            body=body,
            actor=actor,
        )
        audit.record_decision(
            tx, "export.build", sources.view.episode_id, actor=actor, facts={"render_digest": digest}
        )
    return plan_id


# --- the work -------------------------------------------------------------------------------------


def _work(
    studio: Studio,
    sources: Sources,
    request: RenderRequest,
    job: RenderJob,
    token: int,
    *,
    actor: str,
    progress: Report | None,
) -> Version:
    """Render under the lease and register the result. On any failure nothing is visible."""
    scratch = studio.settings.home / "renders" / f"{job.render_job_id}-{new_id('try')}"
    try:
        _remove_old_tries(scratch)
        with _heartbeat(studio, job.render_job_id, token) as lost:

            def go_on(done: int, of: int) -> None:
                _require_lease(lost, job)
                if progress is not None:
                    progress("render", done, of)

            film = render.render(
                sources.timeline, request, path_of=studio.objects.path, folder=scratch, progress=go_on
            )
            _require_lease(lost, job)
            files = store_deliverables(studio, sources, request, film, scratch=scratch)
        manifest = make_manifest(
            sources, request, film, files, plan_id=job.render_plan_id, digest=_digest(studio, job)
        )
        return _register(studio, job, token, manifest, actor=actor)
    except OSError as error:
        outside = outside_of_disk(error, studio.settings.home)
        _fail(studio, job, token, outside)
        raise outside from error
    except ShortdramaError as error:
        _fail(studio, job, token, error)
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _digest(studio: Studio, job: RenderJob) -> str:
    with studio.db.read() as tx:
        return rules.plan_digest(renders.find_plan_body(tx, job.render_plan_id))


def _register(
    studio: Studio, job: RenderJob, token: int, manifest: dict[str, object], *, actor: str
) -> Version:
    """Make the film an ExportVersion beside the other assets (P-12.3), in one transaction."""
    files = pack.read_files(manifest)
    film = next(each for each in files if each.role == "film")
    probes = {film.sha256: dict(probe(studio.objects.path(film.sha256)))}
    with studio.db.begin() as tx:
        media.stage(tx, [StagedFile(each.sha256, each.bytes, each.media_type) for each in files])
        media.judge(
            tx,
            [
                Judgement(each.sha256, MediaState.READY, each.media_type, probes.get(each.sha256, {}))
                for each in files
            ],
        )
        version_id = record_version(
            tx,
            kind=VersionKind.EXPORT,
            episode_id=str(manifest["episode_id"]),
            subject="export",
            role="content",
            content=manifest,
            actor=actor,
            sha256=film.sha256,
            uses=[(str(manifest["timeline_version_id"]), "timeline")],
            provenance={"render_plan_id": job.render_plan_id, "render_job_id": job.render_job_id},
        )
        if not renders.finish_job(tx, job.render_job_id, token, version_id=version_id):
            raise _taken_over(job)
        version = versions.load_version(tx, version_id)
        select_version(tx, version, actor=actor)
    return version


def _choose(studio: Studio, version_id: str, *, actor: str) -> Version:
    with studio.db.begin() as tx:
        version = versions.load_version(tx, version_id)
        select_version(tx, version, actor=actor)
    return version


def _fail(studio: Studio, job: RenderJob, token: int, error: ShortdramaError) -> None:
    reason = {"code": error.code, "message": error.message, "hint": error.hint}
    with suppress(Outside), studio.db.begin() as tx:  # with the database away the lease simply runs out
        renders.fail_job(tx, job.render_job_id, token, reason=reason)


@contextmanager
def _heartbeat(studio: Studio, render_job_id: str, token: int) -> Iterator[threading.Event]:
    """Keep the lease while the work goes on; it ends with this process. The event says that it is lost."""
    stop, lost = threading.Event(), threading.Event()

    def beat() -> None:
        while not stop.wait(HEARTBEAT_S):
            held = False
            try:
                with studio.db.begin() as tx:
                    held = renders.renew_job(tx, render_job_id, token, lease_ms=LEASE_MS)
            except (Outside, StaleState):  # away or busy: asked again; until somebody takes over it is ours
                held = True
            finally:
                if not held:
                    lost.set()
            if not held:
                return

    thread = threading.Thread(target=beat, name="render-lease", daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        stop.set()
        thread.join()


def _require_lease(lost: threading.Event, job: RenderJob) -> None:
    """Stop a render that another process has taken over: it would only be thrown away."""
    if lost.is_set():
        raise _taken_over(job)


def _taken_over(job: RenderJob) -> StaleState:
    return StaleState(
        "Another process has taken this render over",
        hint="Ask for the export again: it returns what the other one made",
        render_job_id=job.render_job_id,
    )


def _remove_old_tries(scratch: Path) -> None:
    """Remove what killed renders of this job left; their lease has run out, or this one had none."""
    job = scratch.name.partition("-")[0]
    for left in scratch.parent.glob(f"{job}-*"):
        shutil.rmtree(left, ignore_errors=True)


# --- after it -------------------------------------------------------------------------------------


def _place_pack(studio: Studio, sources: Sources, version: Version) -> Path:
    """Lay the pack of `version` where people look for it, unless it lies there, whole and up to date."""
    place = _place(studio, version.episode_id)
    with studio.db.read() as tx:
        drawn = draw_page(tx, studio, sources, version)
    if pack.is_current(place, version_id=version.version_id, page=drawn):
        return place / pack.FOLDER
    manifest = {"export_version": version.version_id, **version.content}
    return pack.build_pack(place, manifest=manifest, page=drawn, path_of=studio.objects.path)


def _place(studio: Studio, episode_id: str) -> Path:
    return studio.settings.home / "episodes" / episode_id


def _owner() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
