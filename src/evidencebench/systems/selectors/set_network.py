"""The network of the set model. Importing it imports torch, so only `set_model` does, when a model is loaded."""

import torch
from torch import Tensor, nn

N_SCOPES = 2  # all evidence; results
_CLIP = 4.0


class SetNetwork(nn.Module):
    """Scores every sentence of a paper in view of all the others, and of how many will be chosen.

    A sentence's features and its vector are mixed, attend to the rest of the paper, and correct a linear model of the
    features alone.

    Parameters
    ----------
    n_features, n_dimensions
        Columns of the feature table, and of the sentence vectors.
    width, n_layers, n_heads
        Of the attention layers.
    dropout
        Of hidden values, in 0..1; of whole features, four fifths of it.
    """

    def __init__(
        self,
        *,
        n_features: int,
        n_dimensions: int,
        width: int = 32,
        n_layers: int = 2,
        n_heads: int = 4,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.feature_dropout = 0.8 * dropout
        self.center: Tensor
        self.scale: Tensor
        self.register_buffer("center", torch.zeros(n_features))
        self.register_buffer("scale", torch.ones(n_features))
        self.linear = nn.Linear(n_features, N_SCOPES)
        self.from_features = nn.Linear(n_features, width)
        self.from_vectors = nn.Linear(n_dimensions, width // 4)
        self.mix = nn.Linear(width + width // 4, width)
        self.from_budget = nn.Linear(2, width)
        layer = nn.TransformerEncoderLayer(
            width, n_heads, 2 * width, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        layer.self_attn.dropout = 0.0  # dropping attention weights would need all of them in memory, at twice the time
        self.layers = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.correct = nn.Linear(width, N_SCOPES)
        self.drop = nn.Dropout(dropout)

    def forward(self, table: Tensor, vectors: Tensor, absent: Tensor, budget: Tensor) -> Tensor:
        """Return one score a sentence and scope.

        Parameters
        ----------
        table
            papers x sentences x features.
        vectors
            papers x sentences x dimensions.
        absent
            papers x sentences: True where a shorter paper has no sentence.
        budget
            How many sentences will be chosen of each paper, at least 1.

        Returns
        -------
        papers x sentences x scopes.
        """
        features = ((table - self.center) / self.scale).clamp(-_CLIP, _CLIP)
        if self.training:
            kept = torch.rand(len(table), 1, table.shape[2]) > self.feature_dropout
            features = features * kept
        mixed = self.mix(torch.cat([self.from_features(features), self.drop(self.from_vectors(vectors))], dim=-1))
        asked = self.from_budget(torch.stack([budget.log(), 1 / budget], dim=-1))
        hidden = self.layers(self.drop(mixed) + asked[:, None], src_key_padding_mask=absent)
        scores: Tensor = self.linear(self.drop(features)) + self.correct(hidden)
        return scores


def inclusion(scores: Tensor, absent: Tensor, budget: Tensor) -> Tensor:
    """Return the probability that each sentence is chosen, such that a paper's probabilities add up to its budget.

    They are sigmoid(score - t), with the threshold t of each paper found by bisection; its gradient is that of the
    function which the budget defines implicitly: dt = sum(w * dscore) / sum(w), where w = p * (1 - p).

    Parameters
    ----------
    scores, absent
        papers x sentences, as `SetNetwork` takes and gives them for one scope.
    budget
        One number a paper, at most its number of sentences.
    """
    finite = scores.masked_fill(absent, -1e4)
    with torch.no_grad():
        low = scores.masked_fill(absent, 1e4).amin(dim=1) - 20
        high = finite.amax(dim=1) + 20
        for _ in range(40):
            middle = (low + high) / 2
            too_many = torch.sigmoid(finite - middle[:, None]).sum(dim=1) > budget
            low, high = torch.where(too_many, middle, low), torch.where(too_many, high, middle)
        threshold = (low + high) / 2
        chosen = torch.sigmoid(finite - threshold[:, None])
        weight = chosen * (1 - chosen)
        weight = weight / weight.sum(dim=1, keepdim=True).clamp(min=1e-9)
    moving = (weight * finite).sum(dim=1)
    threshold = threshold + moving - moving.detach()
    return torch.sigmoid(finite - threshold[:, None])


def expected_coverage(chosen: Tensor, sources: Tensor) -> Tensor:
    """Return the expected share of aspects covered if each sentence is chosen independently.

    1 - the product over an aspect's sources of (1 - p), averaged over the aspects.

    Parameters
    ----------
    chosen
        Probability of each of n sentences.
    sources
        aspects x n, 1 where the sentence states the aspect and 0 elsewhere.
    """
    missed = sources @ torch.log1p(-chosen.clamp(max=1 - 1e-6))
    return (1 - missed.exp()).mean()
