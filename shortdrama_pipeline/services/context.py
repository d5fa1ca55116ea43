"""What every use case needs, built once by a composition root and handed on."""

from collections.abc import Mapping
from dataclasses import dataclass

from shortdrama_pipeline.media.object_store import ObjectStore
from shortdrama_pipeline.providers.ports import Adapter, Binding
from shortdrama_pipeline.settings import Settings
from shortdrama_pipeline.store.database import Database


@dataclass(frozen=True, slots=True)
class Studio:
    """`adapters` are by protocol name, `bindings` by binding id. No secret lives here."""

    settings: Settings
    db: Database
    objects: ObjectStore
    bindings: Mapping[str, Binding]
    adapters: Mapping[str, Adapter]

    def binding(self, binding_id: str) -> Binding:
        return self.bindings[binding_id]

    def adapter(self, binding: Binding) -> Adapter:
        return self.adapters[binding.protocol]
