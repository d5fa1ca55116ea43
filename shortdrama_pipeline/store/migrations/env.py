"""Run by alembic, inside the transaction and the lock of `schema.upgrade`."""

from alembic import context

from shortdrama_pipeline.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
