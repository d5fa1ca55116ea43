"""What is configured and verified of each binding: no paid call, no connection (P-6.12, P-9.1)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from shortdrama_pipeline.errors import CredentialMissing, UnknownId
from shortdrama_pipeline.providers.credentials import read_credential
from shortdrama_pipeline.providers.ports import Binding, Contract
from shortdrama_pipeline.rules.prices import Price
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.store import prices


@dataclass(frozen=True, slots=True)
class ProviderView:
    """A binding with its price in force. The credential is a reference, never a value."""

    binding: Binding
    price_version_id: str | None
    price: Price | None

    def to_json(self) -> dict[str, object]:
        return {
            "binding": self.binding.id,
            "kind": self.binding.kind,
            "protocol": self.binding.protocol,
            "model": self.binding.model,
            "base_url": self.binding.base_url,
            "credential": self.binding.credential,
            "price_version_id": self.price_version_id,
            "price": None if self.price is None else self.price.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Checked:
    """What stands in the way of using a binding; nothing is the good case."""

    binding: str
    credential_fingerprint: str | None
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        return {
            "binding": self.binding,
            "ok": not self.problems,
            "credential_fingerprint": self.credential_fingerprint,
            "problems": list(self.problems),
        }


def list_providers(studio: Studio) -> Sequence[ProviderView]:
    """Every binding, in the order of the configuration: the first of a kind is the one that is used."""
    with studio.db.read() as tx:
        in_force = prices.prices_in_force(tx, list(studio.bindings))
    views = []
    for each in studio.bindings.values():
        found = in_force.get(each.id)
        views.append(
            ProviderView(
                binding=each,
                price_version_id=None if found is None else found.price_version_id,
                price=None if found is None else found.price,
            )
        )
    return views


def check_provider(studio: Studio, binding_id: str) -> Checked:
    """Look at protocol, credential, contract and price of a binding. Raises UnknownId."""
    binding = _binding(studio, binding_id)
    problems = []
    if binding.protocol not in studio.adapters:
        problems.append(f"this release does not speak {binding.protocol}")
    with studio.db.read() as tx:
        priced = prices.prices_in_force(tx, [binding_id]).get(binding_id)
    if priced is None:
        problems.append("no price is published: shortdrama provider prices publish FILE")
    elif priced.price.user.currency != studio.settings.studio.currency:
        problems.append(f"its price is in {priced.price.user.currency}, not in the studio's currency")
    fingerprint = None
    try:
        fingerprint = read_credential(binding.credential).fingerprint
    except CredentialMissing as error:
        problems.append(error.message)
    return Checked(binding_id, fingerprint, tuple(problems))


def show_contract(studio: Studio, binding_id: str) -> dict[str, object]:
    """The written contract of the protocol a binding speaks, with its source. Raises UnknownId."""
    binding = _binding(studio, binding_id)
    adapter = studio.adapters.get(binding.protocol)
    if adapter is None:
        raise UnknownId(f"There is no adapter for {binding.protocol}", hint="See: shortdrama provider list")
    contract: Contract = adapter.contract
    fields = asdict(contract)
    fields["asynchronous_kinds"] = sorted(contract.asynchronous_kinds)
    fields["rejection_codes"] = {code: str(kind) for code, kind in contract.rejection_codes.items()}
    return {"binding": binding_id, **fields}


def _binding(studio: Studio, binding_id: str) -> Binding:
    binding = studio.bindings.get(binding_id)
    if binding is None:
        raise UnknownId(
            f"There is no binding {binding_id}",
            hint=f"Configured are: {', '.join(studio.bindings)}",
            binding=binding_id,
        )
    return binding
