"""How the tables came to be. A revision is frozen: it never reads `tables.py`, which goes on changing.

To change tables or guards: change them, add `versions/<name>_<number>.py` that does the same to a
database with data in it, and name it here. A test holds that both ways lead to the same schema.
"""

HEAD = "0004"  # known without importing alembic, so that opening a studio stays quick
