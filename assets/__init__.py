"""One Dagster asset per stage, and beside it `<stage>_ordered` and `<stage>_confirmed`.

Belongs here: naming, lineage, metadata, one call of a service. Does not: rules, SQL, network, loops.
A stage's asset is materialised only by a run that finds it complete (D-21). No RetryPolicy, no
automation condition: a human gate stands between any two stages.
"""
