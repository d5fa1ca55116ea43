"""Dagster resources that hand out plain objects, and what an instance of Dagster needs of us.

Belongs here: opening a studio by name of its home, the run launcher, dagster.yaml. Does not: rules,
SQL, network. No credential is read here: a binding holds its reference, read at submit (A-17).
"""
