"""One paid item in the hands of a worker, and the channel it was sent on, frozen (P-5.4)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shortdrama_pipeline.errors import CredentialMissing, NeedsPerson
from shortdrama_pipeline.providers.credentials import Credential, read_credential
from shortdrama_pipeline.providers.ports import Adapter, Binding, Output
from shortdrama_pipeline.rules.ledger import Bill
from shortdrama_pipeline.rules.money import Money
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.recording import Held
from shortdrama_pipeline.store import successions
from shortdrama_pipeline.store.tasks import Task

CHANNEL_FIELDS = (
    "binding_id",
    "protocol",
    "contract_version",
    "model",
    "base_url",
    "credential",
    "fingerprint",
)


@dataclass(frozen=True, slots=True)
class Route:
    """A resolved channel: the adapter, the binding as it was at the fence, and today's credential."""

    binding: Binding
    adapter: Adapter
    credential: Credential


@dataclass(frozen=True, slots=True)
class Work:
    """A Task under our lease with the Attempt that stands for it now."""

    task: Task
    held: Held
    attempt_id: str
    channel: Mapping[str, Any]

    @property
    def task_id(self) -> str:
        return self.task.task_id

    def at(self, held: Held) -> "Work":
        return replace(self, held=held)


class ChannelLost(NeedsPerson):
    """The channel an Attempt was sent on cannot be resolved any more; nothing is guessed (P-10.8)."""

    code = "channel_lost"


def freeze_channel(binding: Binding, adapter: Adapter, credential: Credential) -> dict[str, Any]:
    """What an Attempt remembers of its channel; the credential by reference and fingerprint alone."""
    return {
        "binding_id": binding.id,
        "protocol": binding.protocol,
        "contract_version": adapter.contract.version,
        "model": binding.model,
        "base_url": binding.base_url,
        "credential": credential.reference,
        "fingerprint": credential.fingerprint,
    }


def resolve_channel(studio: Studio, channel: Mapping[str, Any]) -> Route:
    """Return the original channel, never another one.

    Raises ChannelLost when it is incomplete, not configured any more or spoken by another protocol, and
    CredentialMissing when its key is away, or is another key than the one it was sent with and no person
    has said that both belong to the same account (F13).
    """
    binding, adapter = resolve_binding(studio, channel)
    credential = read_credential(channel["credential"])
    if credential.fingerprint != channel["fingerprint"]:
        with studio.db.read() as tx:
            same = successions.is_successor(
                tx, binding.id, fingerprint=channel["fingerprint"], successor=credential.fingerprint
            )
        if not same:
            raise CredentialMissing(
                f"The key of {binding.id} is not the one this job was sent with",
                hint="Restore that key; if this one is of the same account, a person says so: "
                "shortdrama task query TASK --same-account WHERE-IT-STANDS",
                binding_id=binding.id,
            )
    return Route(binding, adapter, credential)


def resolve_binding(studio: Studio, channel: Mapping[str, Any]) -> tuple[Binding, Adapter]:
    """Return the original channel without its key, as a download needs it. Raises ChannelLost."""
    if any(not isinstance(channel.get(name), str) or not channel.get(name) for name in CHANNEL_FIELDS):
        raise _lost("its record is incomplete", channel)
    binding = studio.bindings.get(channel["binding_id"])
    if binding is None:
        raise _lost("the binding is not configured any more", channel)
    adapter = studio.adapters.get(channel["protocol"])
    if adapter is None or binding.protocol != channel["protocol"]:
        raise _lost("the binding speaks another protocol now", channel)
    if adapter.contract.version != channel["contract_version"]:
        raise _lost("the adapter's contract has another version", channel)
    original = replace(
        binding, base_url=channel["base_url"], model=channel["model"], credential=channel["credential"]
    )
    return original, adapter


def bill_of(work: Work, *, cost_micros: int, cost_currency: str) -> Bill | None:
    """The vendor's bill of an Attempt beside what the Plan allowed (D-7, D-15); None for nothing charged."""
    if cost_micros <= 0 or not cost_currency:
        return None
    request = work.task.request
    return Bill(
        attempt_id=work.attempt_id,
        task_id=work.task_id,
        binding_id=work.task.binding_id,
        cost=Money(cost_micros, cost_currency),
        cost_max=Money(
            int(request.get("cost_micros_max", 0)), str(request.get("cost_currency", cost_currency))
        ),
    )


def output_json(output: Output, *, size: int | None = None) -> dict[str, Any]:
    """How an output stands in an Attempt's result; bytes never do."""
    body: dict[str, Any] = {
        "slot": output.slot,
        "media_type": output.media_type,
        "url": output.url,
        "sha256": output.sha256,
        "facts": dict(output.facts),
    }
    return body if size is None else body | {"bytes": size}


def _lost(why: str, channel: Mapping[str, Any]) -> ChannelLost:
    return ChannelLost(
        f"The channel of this job cannot be resolved: {why}",
        hint="Configure the original binding again; the job is then queried there and nowhere else",
        binding_id=str(channel.get("binding_id")),
    )
