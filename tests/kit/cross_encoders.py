"""Cross-encoders small enough to be made in a test: random weights over the few words of the random papers."""

import json
import re
from pathlib import Path
from typing import Any

from kit.strategies import WORDS

_SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


def make_cross_encoder(folder: Path, *, n_outputs: int = 1, seed: int = 0, weight: float | None = None) -> Path:
    """Write a model of one layer; its last weights all have the value given."""
    import torch  # noqa: PLC0415 - slow to import, as the next ones
    from tokenizers import Tokenizer, models, pre_tokenizers, processors  # noqa: PLC0415
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast  # noqa: PLC0415

    torch.manual_seed(seed)
    words = dict.fromkeys(piece for word in WORDS for piece in re.findall(r"\w+|[^\w\s]", word.lower()))
    vocabulary = {word: number for number, word in enumerate((*_SPECIAL.values(), *words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106 - a token, not a password
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    fast: Any = PreTrainedTokenizerFast
    fast(tokenizer_object=tokenizer, **_SPECIAL).save_pretrained(folder)
    configured: Any = BertConfig
    config = configured(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        num_labels=n_outputs,
        initializer_range=0.5,
    )
    model = BertForSequenceClassification(config)
    if weight is not None:
        torch.nn.init.constant_(model.classifier.weight, weight)
    model.save_pretrained(folder)
    return folder


def name_layer(folder: Path, layer: str) -> None:
    """Say that a model is made of a layer of this class."""
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": layer}]))
