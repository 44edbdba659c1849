"""``evidencebench llm providers``."""

from evidencebench.cli import options
from evidencebench.cli.output import print_json, print_table
from evidencebench.models.llm.providers import PROVIDERS, Provider, place_of_key
from evidencebench.tables import Column, table_for_csv, table_for_readers

_STATES = {"environment": "set", ".env": "in .env", None: "not set"}
_KEYS: tuple[Column[Provider], ...] = (
    Column("provider", "provider", lambda provider: provider.name),
    Column("key_env", "key in", lambda provider: provider.key_env or "none needed"),
    Column("key", "key", lambda provider: provider.key_env and _STATES[place_of_key(provider.key_env)]),
    Column("batches", "batches", lambda provider: "yes" if provider.has_batches else "no"),
)
_ADDRESSES: tuple[Column[Provider], ...] = (
    _KEYS[0],
    Column(
        "base_url",
        "base_url",
        lambda provider: provider.base_url or "",
        lambda provider: provider.base_url or "give base_url",
    ),
)


@options.command
def command(*, as_json: options.AsJson, table_format: options.TableFormat) -> None:
    """List who serves models, and which of their keys are set.

    A model is written provider/name. A key is looked for in the variable of the
    environment, else in the file .env of this folder, as it is when a model is
    asked. No key is shown.

    \b
    Example: evidencebench llm providers
    """
    providers = list(PROVIDERS.values())
    if as_json:
        print_json(
            [
                {
                    "name": provider.name,
                    "base_url": provider.base_url,
                    "key_env": provider.key_env or None,
                    "key_is_set": place_of_key(provider.key_env) is not None,
                    "key_in": place_of_key(provider.key_env),
                    "has_batches": provider.has_batches,
                }
                for provider in providers
            ]
        )
    elif table_format == "csv":
        print_table(table_for_csv([*_KEYS, *_ADDRESSES[1:]], providers), "csv")
    else:
        print_table(table_for_readers(_KEYS, providers), table_format)
        print_table(table_for_readers(_ADDRESSES, providers), table_format)
