"""The language of papers and questions: others than English are told, and no English text is taken for another."""

from pathlib import Path

import pytest

from doors import language_of, read_content
from evidencebench import read_paper
from kit.command_line import Command
from kit.examples import some_of
from kit.outlines import real_files

_ABSTRACTS = {
    "German": "Ziel der Studie war es, die Wirkung von Tee auf den Blutdruck zu untersuchen.",
    "French": "Nous avons étudié l'effet du thé vert sur la pression artérielle chez des adultes.",
    "Spanish": "El objetivo fue evaluar el efecto del té verde sobre la presión arterial en adultos.",
    "Portuguese": "O objetivo deste estudo foi avaliar o efeito do chá verde na pressão arterial de adultos.",
    "Italian": "Lo scopo dello studio era valutare l'effetto del tè verde sulla pressione negli adulti.",
    "Dutch": "Het doel van dit onderzoek was het effect van thee op de bloeddruk te bepalen.",
    "Polish": "Celem badania była ocena wpływu herbaty na ciśnienie tętnicze, które się obniżyło.",
    "Turkish": "Bu bir deneydir ve çay için daha çok veri gerekir.",
    "Swedish": "Syftet med studien var att undersöka effekten av te på blodtrycket hos vuxna.",
    "Russian, or another language in Cyrillic letters": "Целью исследования было оценить влияние чая на давление.",
    "Chinese or Japanese": "本研究旨在评价绿茶对成人血压的影响 (P<0.05)。",
    "Japanese": "本研究の目的は、成人の血圧に対する緑茶の効果を評価することである。",
    "Korean": "이 연구의 목적은 성인의 혈압에 대한 녹차의 효과를 평가하는 것이다.",
}


@pytest.mark.parametrize(("language", "text"), _ABSTRACTS.items())
def test_other_languages_than_english_are_told(language: str, text: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P < 0.05",
        "tea placebo sleep",
        "Sjögren's syndrome",
        "Roux-en-Y gastric bypass, LDL-C, E-selectin",
        "naïve café drinkers in São Paulo",
        "β-blockers vs placebo: μ-opioid receptors",
        "Behçet's disease per se, et al.",
        "Sjögren de novo heart failure",
        "De la Cruz, van den Berg and von der Heide found no effect of the drug in die-hard smokers.",
    ],
)
def test_keywords_names_and_letters_in_english_are_no_other_language(text: str) -> None:
    assert language_of(text) is None


@pytest.mark.data
def test_no_real_english_article_is_taken_for_another_language() -> None:
    for path in some_of(real_files("evidence_inference/xml/*.nxml"), thorough=8, quick=40):
        assert not any("reads as" in warning for warning in read_paper(path).warnings)


def test_a_paper_and_a_question_in_another_language_are_told(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _ABSTRACTS["German"]
    (told,) = read_content(f"{text}\nEr sank.\n".encode(), name="x").warnings
    assert "reads as German; the finder was trained on English" in told
    monkeypatch.chdir(tmp_path)
    Path("x.txt").write_text("Tea lowers pressure.\nWater does not.\n")
    found = command("find {Senkt Tee den Blutdruck bei Frauen?} x.txt")
    assert found.code == 0
    assert "warning: 'Senkt Tee den Blutdruck bei Frauen?' reads as German" in found.err
    assert "reads as" not in command("find {tea pressure} x.txt").err
