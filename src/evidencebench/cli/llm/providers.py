"""``evidencebench llm providers``."""

import click

from evidencebench.cli import options
from evidencebench.cli.output import print_json, print_table
from evidencebench.models.llm.credentials import place_of_key
from evidencebench.models.llm.providers import PROVIDERS
from evidencebench.tables import Cell, Table


@click.command(name="providers")
@options.as_json
@options.table_format
def command(*, as_json: bool, table_format: str) -> None:
    """List who serves models, and which of their keys are set.

    A model is written provider/name. A key is looked for in the variable of the
    environment, else in the file .env of this folder, as it is when a model is
    asked. No key is shown.

    \b
    Example: evidencebench llm providers
    """
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
                for provider in PROVIDERS.values()
            ]
        )
        return
    keys: list[list[Cell]] = [
        [
            provider.name,
            provider.key_env or "none needed",
            _state(provider.key_env),
            "yes" if provider.has_batches else "no",
        ]
        for provider in PROVIDERS.values()
    ]
    if table_format == "csv":
        flat = [[*row, provider.base_url or ""] for row, provider in zip(keys, PROVIDERS.values(), strict=True)]
        print_table(Table(columns=["provider", "key_env", "key", "batches", "base_url"], rows=flat), "csv")
        return
    addresses: list[list[Cell]] = [
        [provider.name, provider.base_url or "give base_url"] for provider in PROVIDERS.values()
    ]
    print_table(Table(columns=["provider", "key in", "key", "batches"], rows=keys), table_format)
    print_table(Table(columns=["provider", "base_url"], rows=addresses), table_format)


def _state(key_env: str) -> str:
    if not key_env:
        return ""
    return {"environment": "set", ".env": "in .env", None: "not set"}[place_of_key(key_env)]
