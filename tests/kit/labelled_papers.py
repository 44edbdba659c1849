"""Small papers whose evidence can be told by its wording, so that a model can learn to find it."""

from evidencebench import Instance, Kind, Labels, Query


def paper(number: int, *, paper_id: str = "", sources: tuple[int, ...] = (2, 5), text: str = "") -> Instance:
    """Make a paper of eight sentences in which two hold figures, one of them Results."""
    sentences = [f"we did thing {number} {letter}" for letter in "abcdefgh"]
    for index in sources:
        sentences[index] = f"p<0.0{number} at {index}"
    aspects = tuple(f"a{index}" for index in sources)
    return Instance(
        query=Query(
            instance_id=f"i{number}",
            paper_id=paper_id or f"p{number}",
            hypothesis=f"thing {number} works",
            sentences=tuple(sentences),
            kinds=(Kind.BODY,) * 8,
        ),
        labels=Labels(
            aspects=aspects,
            results=aspects[1:],
            sources={f"a{index}": (index,) for index in sources},
            texts={aspect: f"{text} {aspect}" for aspect in aspects} if text else {},
        ),
    )


def marked_papers(n_papers: int) -> list[Instance]:
    """Return papers with texts of aspects; sentence 2 and 5 are sources of an aspect each."""
    return [paper(number, text="reports") for number in range(1, n_papers + 1)]


PAPERS = [paper(number) for number in range(1, 6)]
