"""Schedules and sensors: a pure decision, translated.

Belongs here: reading what is new through a service, deciding by a function of `deciding.py`, saying it in
Dagster's words. Does not: rules of the product, SQL, network. Every sensor may be killed, repeated or
run twice at once: our own rows decide, a run key only saves the second run.
"""
