"""Real processes under fire: workers killed, PostgreSQL restarted, answers lost, Dagster's daemon killed.

`python -m tests.chaos` (`make chaos`) buys 2,000 items meanwhile and closes the books: no item posted
twice, every accepted one delivered or explained, both ledgers equal to the vendor's account book.
"""
