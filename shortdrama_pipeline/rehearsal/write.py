"""Outlines and scripts from a brief, by rule and seed."""

from shortdrama_pipeline.rehearsal.book import Json


def write(params: Json) -> Json:
    """Return the outline or the script the parameters ask for."""
    return {"title": "", "language": params["language"]}
