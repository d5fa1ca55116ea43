"""What the configured bindings can do, as the stages ask about it."""

from collections.abc import Mapping
from dataclasses import replace

from shortdrama_pipeline.providers.ports import Binding
from shortdrama_pipeline.rules.readiness import Channel, channel_of
from shortdrama_pipeline.services.context import Studio


def channels_of(studio: Studio) -> tuple[Channel, ...]:
    """Return the bindings' capabilities in their configured order: labels first, then the contract."""
    return tuple(_channel(studio, binding) for binding in studio.bindings.values())


def _channel(studio: Studio, binding: Binding) -> Channel:
    labels: Mapping[str, str] = binding.labels
    channel = channel_of(binding.id, binding.kind, labels)
    if channel.voices or binding.protocol not in studio.adapters:
        return channel
    return replace(channel, voices=studio.adapter(binding).contract.voices)
