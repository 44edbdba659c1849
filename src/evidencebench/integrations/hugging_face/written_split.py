"""A split as it was written: what the card and the metadata say of it."""

import msgspec


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """A Parquet file of a split; ``n_bytes_unpacked`` is the size of its columns before compression."""

    name: str  # in the folder
    sha256: str
    n_bytes: int
    n_bytes_unpacked: int


class WrittenSplit(msgspec.Struct, frozen=True, kw_only=True):
    """A split: the data that it was made of, and its files."""

    name: str
    data: str  # the name of the file
    data_sha256: str
    licence: str
    is_published: bool  # whether it is of the published benchmark
    n_instances: int
    shards: tuple[Shard, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of its files."""
        return sum(shard.n_bytes for shard in self.shards)

    @property
    def n_bytes_unpacked(self) -> int:
        """Bytes of its columns before compression."""
        return sum(shard.n_bytes_unpacked for shard in self.shards)

    @property
    def pattern(self) -> str:
        """The pattern that all its files match, and no other."""
        return f"data/{self.name}-*.parquet"


# Column -> what stands in it, for the card and the metadata.
COLUMNS = {
    "id": "Name of the instance.",
    "paper_id": "Name of the paper; two instances can share one.",
    "hypothesis": "The claim that evidence is sought for.",
    "sentences": "The paper in reading order, headings included; a sentence is named by its 0-based position.",
    "sentence_types": "One a sentence: section_name, abstract or normal_paragraph.",
    "aspects": "Ids of the study aspects, which the evidence must cover. They are labels: no system may read them.",
    "result_aspects": "Those of the aspects that are results; null where there are none. Labels.",
    "sentence_aspects": "For each sentence, the positions in aspects of those that it is a source of. Labels.",
    "er_optimal": "One smallest selection of sentences that covers all coverable aspects; null: none stored. Labels.",
    "er_10": "One selection of 10 sentences that covers the most aspects; null where none is stored. Labels.",
    "result_er_optimal": "As er_optimal, of result_aspects. Labels.",
    "result_er_5": "As er_10, of result_aspects with 5 sentences. Labels.",
    "other": "JSON of what the other columns do not say, such as texts of aspects; null: they say it all. Labels.",
}
