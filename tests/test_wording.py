"""A name that there is not is answered with the one that may have been meant, wherever names are written."""

import re

import pytest

from doors import trainable
from evidencebench import EvidenceBenchError, make_system, open_dataset, task_named


@pytest.mark.parametrize(
    ("make", "name", "meant"),
    [
        (make_system, "bm52", "bm25"),
        (make_system, "BM25", "bm25"),
        (make_system, "fuse:systems=[bm25+minlm]", "minilm"),
        (make_system, "bm25:stopword=true", "stopwords"),
        (make_system, "tfidf_char:short=2", "shortest"),
        (make_system, "fuse:systems=bm25,method=rff", "rrf"),
        (task_named, "er_10", "er_at_10"),
        (task_named, "result_er_optimal", "result_er_at_optimal"),
        (open_dataset, "trian", "train"),
        (open_dataset, "SAMPLE", "sample"),
        (trainable, "embeder", "embedder"),
        (trainable, "fnder:figures=false", "finder"),
        (trainable, "finder:figurs=false", "figures"),
    ],
)
def test_what_may_have_been_meant_is_named_once(make: type, name: str, meant: str) -> None:
    with pytest.raises(EvidenceBenchError) as caught:
        make(name)
    assert re.findall(r"\(did you mean '(\w+)'\?\)", str(caught.value)) == [meant]


def test_a_name_like_no_other_gets_no_question() -> None:
    with pytest.raises(EvidenceBenchError, match="no system 'zebra'; expected one of"):
        make_system("zebra")
    with pytest.raises(EvidenceBenchError, match="no task ''; expected one of"):
        task_named("")
