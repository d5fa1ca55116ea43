"""The embedded provider: an HTTP server of its own process, spoken to like any vendor.

Belongs here: its protocol, its book, its price list, its drawing, filming, speaking and writing.
Does not belong here: anything of the engine. This room imports no other room of ours; the engine
reaches it only over the network, through `providers/rehearsal.py`.
"""
