"""T2 for whoever drives from outside: Outbox rows that nobody has delivered, and marking them.

A row may be delivered more than once (P-6.5): its id is the stable job id, and what it leads to is
`drain`, where the fence decides. Losing the driver's own storage resets nothing here (P-10.9).
"""

from shortdrama_pipeline.errors import UnknownId
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import outbox
from shortdrama_pipeline.store.outbox import OutboxRow

ROWS_AT_ONCE = 500


def pending_outbox(studio: Studio, *, most: int = ROWS_AT_ONCE) -> list[OutboxRow]:
    """Rows to deliver, the oldest first. Marking comes after publishing, never before (P-6.4)."""
    with studio.db.read() as tx:
        return outbox.find_unsent(tx, most=most)


def mark_delivered(studio: Studio, outbox_id: str) -> None:
    """Count one delivery; the first one stamps the row. Raises UnknownId."""
    with studio.db.begin() as tx:
        if not outbox.mark_sent(tx, outbox_id):
            raise UnknownId(
                f"No outbox row {outbox_id}",
                hint="Read the pending rows again and mark one of those",
                outbox_id=outbox_id,
            )
