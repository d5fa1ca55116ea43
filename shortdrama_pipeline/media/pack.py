"""The hand-over pack: every file of a finished episode in one folder, and a manifest that proves them.

A pack is built in a folder beside its place and takes it by renaming, so a reader sees the old one
whole or the new one whole. All files but the manifest and the page come from the object store by
their hash, so a lost pack is made again without rendering anything.
"""

import csv
import fcntl
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shortdrama_pipeline.errors import MediaInvalid
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.media.object_store import outside_of_disk, sync_file
from shortdrama_pipeline.rules.script import LineKind, Script
from shortdrama_pipeline.rules.shots import Shot
from shortdrama_pipeline.rules.timeline import Timeline, ms_of

MANIFEST = "manifest.json"
PAGE = "index.html"
FOLDER = "export"
_SUFFIXES = {
    "video/mp4": ".mp4", "video/webm": ".webm", "audio/wav": ".wav", "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a", "audio/ogg": ".ogg", "audio/flac": ".flac", "audio/aac": ".aac",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PackedFile:
    """One deliverable. `path` is relative to the pack; `sha256` names the bytes in the object store."""

    role: str
    path: str
    sha256: str
    bytes: int
    media_type: str

    def to_json(self) -> dict[str, object]:
        return {
            "role": self.role,
            "path": self.path,
            "sha256": self.sha256,
            "bytes": self.bytes,
            "media_type": self.media_type,
        }


def read_files(manifest: Mapping[str, object]) -> list[PackedFile]:
    """Return the files a manifest lists."""
    listed = manifest["files"]
    assert isinstance(listed, list)
    return [
        PackedFile(each["role"], each["path"], each["sha256"], each["bytes"], each["media_type"])
        for each in listed
    ]


def suffix_of(media_type: str) -> str:
    return _SUFFIXES.get(media_type, ".bin")


def build_pack(
    place: Path, *, manifest: Mapping[str, object], page: str, path_of: Callable[[str], Path]
) -> Path:
    """Lay the pack of `manifest` at `place`/export; an old one stays until this one is whole.

    Every file is hashed while it is copied. Raises MediaInvalid if stored bytes have changed, Outside
    if the disk is full; then nothing new is visible.
    """
    place.mkdir(parents=True, exist_ok=True)
    with _locked(place):
        _remove_leftovers(place)
        building = place / f".{new_id('pack')}"
        try:
            for each in read_files(manifest):
                _copy(path_of(each.sha256), building / each.path, sha256=each.sha256)
            (building / PAGE).write_text(page, encoding="utf-8")
            page_bytes = page.encode()
            page_file = PackedFile(
                "page", PAGE, hashlib.sha256(page_bytes).hexdigest(), len(page_bytes), "text/html"
            )
            whole = {**manifest, "files": [*_listed(manifest), page_file.to_json()]}
            text = json.dumps(whole, ensure_ascii=False, indent=2, sort_keys=False)
            (building / MANIFEST).write_text(text + "\n", encoding="utf-8")
            sync_file(building / MANIFEST)
            _take_place(building, place / FOLDER)
        except OSError as error:
            raise outside_of_disk(error, place) from error
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return place / FOLDER


def read_manifest(place: Path) -> dict[str, object] | None:
    """Return the manifest of the pack at `place`/export, or None where there is none that can be read."""
    try:
        found = json.loads((place / FOLDER / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def is_current(place: Path, *, version_id: str, page: str) -> bool:
    """Tell whether the pack at `place` is of this version, whole by names and sizes, with this page."""
    manifest, folder = read_manifest(place), place / FOLDER
    if manifest is None or manifest.get("export_version") != version_id:
        return False
    try:  # another process may be putting its own in the place of what is looked at
        sizes = {each.path: each.bytes for each in read_files(manifest)}
        there = all((folder / path).stat().st_size == size for path, size in sizes.items())
        return there and (folder / PAGE).read_text(encoding="utf-8") == page
    except FileNotFoundError:
        return False


def find_problems(place: Path, manifest: Mapping[str, object]) -> list[str]:
    """Hash every file of the pack again; return what is missing, changed or strange."""
    folder = place / FOLDER
    problems = []
    listed = {each.path: each for each in read_files(manifest)}
    for path, each in listed.items():
        if not (folder / path).is_file():
            problems.append(f"{path}: missing")
        elif _hash(folder / path) != each.sha256:
            problems.append(f"{path}: its bytes have changed")
    found = {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}
    problems += [f"{path}: not listed" for path in sorted(found - set(listed) - {MANIFEST})]
    return problems


def shot_list(shots: Sequence[Shot], timeline: Timeline) -> str:
    """Return the shot list as CSV that spreadsheets open in the right encoding."""
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(
        ["shot", "scene", "start", "seconds", "frames", "size", "move", "place", "time", "characters",
         "action", "speaker", "line", "transition", "video_version", "video_sha256"]
    )  # fmt: skip
    by_id = {each.id: each for each in shots}
    for clip in timeline.video:
        shot = by_id[clip.shot_id]
        start, length = ms_of(clip.start, timeline.frame_rate), ms_of(clip.frames, timeline.frame_rate)
        table.writerow(
            _plain(each)
            for each in (
                shot.id, shot.scene_id, f"{start / 1000:.3f}", f"{length / 1000:.3f}", clip.frames, shot.size,
                shot.move, shot.place, shot.time_of_day, " / ".join(shot.characters), shot.action,
                " / ".join(line.speaker or line.kind for line in shot.lines),
                " / ".join(line.text for line in shot.lines), clip.transition_in,
                clip.version_id, clip.sha256,
            )
        )  # fmt: skip
    return "\ufeff" + out.getvalue()


def script_text(script: Script) -> str:
    """Return the script as Markdown, to read and to print."""
    names = {each.id: each.name for each in script.characters}
    lines = [f"# {script.title}", "", script.logline, ""]
    lines += [f"- **{each.name}** {each.description}" for each in script.characters]
    for scene in script.scenes:
        lines += ["", f"## {scene.heading or scene.id}", ""]
        for line in scene.lines:
            manner = f"（{line.manner}）" if line.manner else ""
            match line.kind:
                case LineKind.ACTION:
                    lines += [line.text, ""]
                case LineKind.NARRATION:
                    lines += [f"> {line.text}", ""]
                case LineKind.DIALOGUE | LineKind.INNER:
                    name = names.get(line.speaker or "", line.speaker or "")
                    text = f"*{line.text}*" if line.kind is LineKind.INNER else line.text
                    lines += [f"**{name}**{manner}: {text}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _plain(cell: object) -> object:
    """A cell that begins like a formula is shown, never computed."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell


def _listed(manifest: Mapping[str, object]) -> list[object]:
    listed = manifest["files"]
    assert isinstance(listed, list)
    return listed


def _copy(source: Path, target: Path, *, sha256: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with source.open("rb") as read, target.open("xb") as write:
        while chunk := read.read(1 << 20):
            digest.update(chunk)
            write.write(chunk)
    if digest.hexdigest() != sha256:
        raise MediaInvalid(
            f"The stored file {sha256[:12]} is not what it was",
            hint="Run `shortdrama audit verify` and restore the media folder from a backup",
            sha256=sha256,
        )


def _take_place(building: Path, final: Path) -> None:
    old = final.with_name(f".old-{new_id('pack')}")
    if final.exists():
        final.rename(old)
    building.rename(final)
    shutil.rmtree(old, ignore_errors=True)


def _remove_leftovers(place: Path) -> None:
    """What a killed builder left. An old pack whose successor never came takes its place again."""
    for left in place.glob(".pack_*"):
        shutil.rmtree(left, ignore_errors=True)
    for old in place.glob(".old-*"):
        if (place / FOLDER).exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(place / FOLDER)


def _hash(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """One builder at a time per episode on this machine; the lock goes with its process."""
    with (place / ".export.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
