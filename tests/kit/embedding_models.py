"""Tiny embedding models with random weights, made in a second: a folder each."""

# ruff: noqa: S106 - these tokens are no passwords

import json
from pathlib import Path

LETTERS = [*"abcdefghijklmnopqrstuvwxyz0123456789.,:;%()<>=|-"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def make_backbone(folder: Path, *, seed: int = 0, dimension: int = 16, max_tokens: int = 64) -> Path:
    """Make a folder with a two-layer BERT that reads letters, as transformers saves it: no pooling, no modules."""
    import torch  # noqa: PLC0415 - slow to import, as the next ones
    from tokenizers import Tokenizer  # noqa: PLC0415
    from tokenizers.models import WordPiece  # noqa: PLC0415
    from tokenizers.normalizers import BertNormalizer  # noqa: PLC0415
    from tokenizers.pre_tokenizers import BertPreTokenizer  # noqa: PLC0415
    from tokenizers.processors import TemplateProcessing  # noqa: PLC0415
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast  # noqa: PLC0415

    vocabulary = {token: index for index, token in enumerate(SPECIAL + LETTERS + ["##" + one for one in LETTERS])}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=200))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=dimension,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * dimension,
        max_position_embeddings=512,
        initializer_range=0.5,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=max_tokens,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)
    return folder


def make_embedding_model(folder: Path, *, seed: int = 0, dimension: int = 16, max_tokens: int = 64) -> Path:
    """Make a folder with such a model as sentence-transformers saves it: mean pooling, length 1."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - slow to import, as the next
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer  # noqa: PLC0415

    backbone = Transformer(str(make_backbone(folder / "backbone", seed=seed, dimension=dimension)))
    backbone.max_seq_length = max_tokens
    model = SentenceTransformer(modules=[backbone, Pooling(dimension, pooling_mode="mean"), Normalize()], device="cpu")
    model.save(str(folder / "model"), create_model_card=False)
    return folder / "model"


def weights_of(folder: Path) -> Path:
    return folder / "model.safetensors"


def parts_of(folder: Path) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    return parts
