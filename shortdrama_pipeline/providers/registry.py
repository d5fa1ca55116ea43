"""Which protocols are spoken here. Adding a vendor is one adapter with a contract and one line."""

from collections.abc import Iterable

from shortdrama_pipeline.errors import SettingsError
from shortdrama_pipeline.providers.ports import Adapter, Contract
from shortdrama_pipeline.providers.rehearsal import RehearsalAdapter


def register(adapters: Iterable[Adapter]) -> dict[str, Adapter]:
    """Return the adapters by protocol. One without a written contract is refused (P-6.12)."""
    by_protocol: dict[str, Adapter] = {}
    for adapter in adapters:
        contract = getattr(adapter, "contract", None)
        if not isinstance(contract, Contract) or not contract.source:
            raise SettingsError(
                f"{type(adapter).__name__} carries no written contract",
                hint="Give it a Contract that says what is verified and names its source",
            )
        if contract.protocol in by_protocol:
            raise SettingsError(
                f"Two adapters speak {contract.protocol}",
                hint="Remove one of them from providers/registry.py",
                protocol=contract.protocol,
            )
        by_protocol[contract.protocol] = adapter
    return by_protocol


ADAPTERS: dict[str, Adapter] = register([RehearsalAdapter()])
