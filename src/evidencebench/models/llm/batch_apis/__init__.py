"""The batch interfaces of providers. Read `calls`, `contract`, then `openai` or `anthropic`."""

from collections.abc import Mapping
from types import MappingProxyType

from evidencebench.errors import SystemSpecError
from evidencebench.models.llm.batch_apis.anthropic import AnthropicBatchApi
from evidencebench.models.llm.batch_apis.contract import BatchApi
from evidencebench.models.llm.batch_apis.openai import OpenaiBatchApi
from evidencebench.models.llm.providers import PROVIDERS, Wire, provider_of

_APIS: Mapping[Wire, BatchApi] = MappingProxyType({"openai": OpenaiBatchApi(), "anthropic": AnthropicBatchApi()})


def batches_of(model: str) -> BatchApi:
    """Return the batch interface for a model ``provider/name``; raise `SystemSpecError` if its provider has none.

    Examples
    --------
    >>> batches_of("openai/gpt-4o-mini").most_requests
    50000
    """
    provider = provider_of(model)
    if not provider.has_batches:
        having = " and ".join(name for name, row in PROVIDERS.items() if row.has_batches)
        raise SystemSpecError(
            f"model '{model}': expected a provider with batches, which are {having}; leave batches out, or for a "
            "server that speaks as one of them give its name with base_url"
        )
    return _APIS[provider.wire]
