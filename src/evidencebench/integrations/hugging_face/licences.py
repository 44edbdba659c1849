"""What the licences of data sets allow, and how Hugging Face names them."""

from evidencebench.data.catalog import SAMPLE, data_path
from evidencebench.data.dataset import Dataset
from evidencebench.integrations.known_data import known_entry

# Licence -> what it forbids, for the card.
_TERMS = {
    "CC-BY-4.0": "Any use is allowed, also a commercial one, if the source is named and changes are said.",
    "CC-BY-NC-4.0": "No commercial use. The source must be named and changes said.",
    "CC-BY-NC-SA": "No commercial use. The source must be named and changes said. What is made of it may be shared "
    "under the same licence only. The publisher does not say which version of the licence.",
    "CC-BY-SA-4.0": "The source must be named and changes said. What is made of it may be shared under the same "
    "licence only.",
    "CC-BY-NC-SA-4.0": "No commercial use. The source must be named and changes said. What is made of it may be shared "
    "under the same licence only.",
    "CC0-1.0": "Any use is allowed.",
    "MIT": "Any use is allowed, if the notice of the licence is kept.",
}
OTHER = "other"


def licence_of(dataset: Dataset) -> str | None:
    """Return the licence of a published data set, or of the sample; None where it is not known."""
    if dataset.path == data_path(SAMPLE):
        return "MIT"
    entry = known_entry(dataset)
    return None if entry is None else entry.licence.partition(" ")[0]


def terms_of(licence: str) -> str:
    """Return what a licence forbids, in a sentence or two."""
    return _TERMS.get(licence, "As this licence says; evidencebench does not know it.")


def hub_name(licence: str) -> str:
    """Return how Hugging Face names a licence; 'other' where it does not."""
    return licence.lower() if licence in _TERMS and licence != "CC-BY-NC-SA" else OTHER
