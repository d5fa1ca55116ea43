"""History of the machine tables once per statement (see `history_0004.sql`)."""

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    statements = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # Past SQLAlchemy, since the bodies of functions hold colons and percent signs of their own.
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    driver.execute(statements)
