"""A tiny language model with random weights, and a real inference server that serves it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_language_model(folder: Path) -> Path:
    """Write a Llama of two layers, with a tokenizer of bytes and a chat template, in the usual files."""
    import torch  # noqa: PLC0415 - slow to import, and few tests need it
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: PLC0415

    torch.manual_seed(0)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    marks = ["<s>", "</s>", "<|user|>", "<|assistant|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=marks, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["ANSWER: [1, 2, 3]"], trainer)
    special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    made: Any = PreTrainedTokenizerFast
    fast = made(tokenizer_object=tokenizer, **special)
    fast.chat_template = _TEMPLATE
    fast.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=1 << 17,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@contextmanager
def transformers_server(model: Path, *, start_seconds: float = 120.0) -> Iterator[str]:
    """Serve a model with `transformers serve` on loopback, and give what stands before ``/chat/completions``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("transformers")
    words = [str(program), "serve", str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process, time.monotonic() + start_seconds)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _wait_for(address: str, process: "subprocess.Popen[bytes]", deadline: float) -> None:
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with exit code {process.returncode}")
        try:
            with urlopen(address, timeout=1):  # noqa: S310 - loopback
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"{address}: no answer in time")
