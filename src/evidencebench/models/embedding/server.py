"""Vectors from a server with OpenAI's ``/embeddings``, with limits on attempts and replies; vectors are checked."""

import base64
import binascii
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any

import msgspec
import numpy as np

from evidencebench.errors import EndpointError, SystemSpecError
from evidencebench.models.embedding.encoder import EncodedText, Floats, VectorBatch, vector_faults
from evidencebench.web.fetch import decode_served
from evidencebench.web.http import Http, ask_often, check_address, check_key, hide_key, sendable
from evidencebench.web.retry import Retry, TransientError, Tries, is_transient, retry_after

_LONGEST_WAIT_SECONDS = 60.0
MOST_REPLY_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    base_url: str  # the address up to /embeddings, such as https://api.openai.com/v1
    model: str
    key_env: str = "OPENAI_API_KEY"  # the environment variable that holds the key; empty: no key is sent
    dimensions: int | None = None  # the length of vectors to ask for; None: the model's own
    batch_texts: int = 128  # in a request
    batch_characters: int = 100_000  # in a request; a longer text is sent alone
    timeout_seconds: float = 60.0  # the longest wait for a connection, and for a whole reply
    max_attempts: int = 5  # how often a request is sent at most

    def require_sound(self, system: str) -> None:
        check_address(system, self.base_url)
        for name in ("dimensions", "batch_texts", "batch_characters", "timeout_seconds", "max_attempts"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise SystemSpecError(f"{system}: {name}: expected more than 0, got {value}")
        check_key(system, self.base_url, key_env=self.key_env, key=os.environ.get(self.key_env, ""))


class _ServedVector(msgspec.Struct, frozen=True):
    index: int
    embedding: list[float] | str


class _ServedVectors(msgspec.Struct, frozen=True):
    data: list[_ServedVector]


class EndpointEncoder:
    """Vectors from a server. Make one with `endpoint_encoder`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        sleep: Callable[[float], object] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._endpoint, self._address = endpoint, f"{endpoint.base_url.rstrip('/')}/embeddings"
        self._where = f"{self._address}: model '{endpoint.model}'"
        self._http = Http(endpoint.base_url)
        self._retry = Retry(
            max_attempts=endpoint.max_attempts,
            longest_wait_seconds=_LONGEST_WAIT_SECONDS,
            longest_asked_seconds=_LONGEST_WAIT_SECONDS,
            sleep=sleep,
            jitter=jitter,
        )
        self._dimension = endpoint.dimensions
        self.identity: str = f"endpoint|{self._address}|{endpoint.model}|dimensions={endpoint.dimensions}"

    def batches(self, texts: Sequence[EncodedText]) -> Iterator[VectorBatch]:
        for positions in self._split(texts):
            wanted = [sendable(texts[position].prefix + texts[position].text) for position in positions]
            vectors = ask_often(self._retry, partial(self._attempt, wanted), self._where)
            if fault := vector_faults(vectors, len(wanted), self._dimension):
                raise EndpointError(f"{self._where}: {fault}; nothing of this batch is kept")
            self._dimension = vectors.shape[1]
            yield VectorBatch(positions=positions, vectors=vectors, is_truncated=[False] * len(wanted))

    def _split(self, texts: Sequence[EncodedText]) -> Iterator[range]:
        endpoint, start, n_characters = self._endpoint, 0, 0
        for position, text in enumerate(texts):
            size = len(text.prefix) + len(text.text)
            is_full = position - start == endpoint.batch_texts or n_characters + size > endpoint.batch_characters
            if position > start and is_full:
                yield range(start, position)
                start, n_characters = position, 0
            n_characters += size
        if len(texts) > start:
            yield range(start, len(texts))

    def _attempt(self, texts: list[str], _: Tries) -> Floats:
        endpoint = self._endpoint
        key = os.environ.get(endpoint.key_env, "") if endpoint.key_env else ""
        body: dict[str, Any] = {"model": endpoint.model, "input": texts, "encoding_format": "float"}
        if endpoint.dimensions is not None:
            body["dimensions"] = endpoint.dimensions
        reply = self._http.request(
            "POST",
            self._address,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            body=msgspec.json.encode(body),
            seconds=endpoint.timeout_seconds,
            most_bytes=MOST_REPLY_BYTES,
            key=key,
        )
        if reply.status == HTTPStatus.OK:
            return self._parse(reply.content, len(texts))
        message = f"status {reply.status}: {hide_key(reply.content.decode(errors='replace'), key)}"
        if is_transient(reply.status):
            raise TransientError(message, retry_after(reply.headers))
        if "Location" in reply.headers:
            message = f"status {reply.status}: a redirect, which is not followed; correct base_url"
        raise EndpointError(f"{self._where}: {message}")

    def _parse(self, content: bytes, n_texts: int) -> Floats:
        try:
            served = sorted(decode_served(content, _ServedVectors).data, key=lambda vector: vector.index)
            rows = [_numbers(vector.embedding) for vector in served]
        except (msgspec.DecodeError, binascii.Error, ValueError) as error:
            raise TransientError(f"expected embeddings as JSON: {error}") from error
        if [vector.index for vector in served] != list(range(n_texts)):
            raise EndpointError(
                f"{self._where}: expected {n_texts} vectors with the indices 0..{n_texts - 1}, got {len(served)}"
            )
        lengths = {len(row) for row in rows}
        if len(lengths) != 1:
            raise EndpointError(f"{self._where}: expected vectors of one length, got {sorted(lengths)}")
        return np.stack(rows)


def _numbers(embedding: list[float] | str) -> Floats:
    """Return a vector from a list, or from base64 of little-endian 32-bit floats."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    with np.errstate(over="ignore"):  # a number too large becomes infinite, which is refused later
        return np.array(embedding, dtype=np.float64).astype(np.float32)


@lru_cache(maxsize=4)  # so that connections are used again
def endpoint_encoder(endpoint: Endpoint) -> EndpointEncoder:
    return EndpointEncoder(endpoint)
