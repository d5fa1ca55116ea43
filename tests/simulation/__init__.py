"""A deterministic simulator: the product's rules, services and store, with a world that one seed decides.

    python -m tests.simulation --seed 7 --schedules 500     play schedules; void runs fail too
    python -m tests.simulation --seed 7 --only 123          play one again and tell its history

How it works. One event loop (`loop.py`) with virtual time carries several processes: workers are the
product's own `Engine`, beside customers, callbacks, recovery passes and people. The seed decides which
process runs next and how long threads, vendor and network take. PostgreSQL is real (`database.py`): one
connection, a savepoint per transaction, everything rolled back at the end of a schedule, the clock of a
schema that stands before `pg_catalog`. The vendor (`vendor.py`) sits behind the transport's wires and
keeps a book of its own. A plan (`plan.py`) is a list of entries: crashes at named points, pauses, lost
commits, vendor faults, clicks. `checking.py` says what must hold, at every paid request, after every
commit and at the end; a failing plan is shrunk by leaving out what the failure does not need.

What it cannot show: two transactions contending for one row, since they run one after the other here.
That is what `tests/racing` and `tests/faults` are for, with real processes.
"""
