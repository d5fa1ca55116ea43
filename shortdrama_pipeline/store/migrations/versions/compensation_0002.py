"""Compensation, late results, and the transaction of every audit row (see `compensation_0002.sql`)."""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    statements = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    # Past SQLAlchemy, since the bodies of functions hold colons and percent signs of their own.
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    driver.execute(statements)
