"""Formulas of MathML, TeX, Word and web pages, each in a line of text, and signs that are pictures."""

# ruff: noqa: RUF001 - signs that look like letters are what is tested

import re
from collections import Counter
from pathlib import Path

import pytest

from doors import formula_text, from_tex, parse_xml, read_content, sign_of
from kit.outlines import real_files
from papers.test_zipped import docx, paragraph

_LINES = Path(__file__).with_name("tex_formulas.txt").read_text(encoding="utf-8").splitlines()
_TEX = list(zip(_LINES[1::3], _LINES[2::3], strict=True))
_PANDOC = Path(__file__).with_name("pandoc_formulas.txt").read_text(encoding="utf-8").splitlines()[1:]


@pytest.mark.parametrize(("tex", "line"), _TEX)
def test_tex_as_others_write_it(tex: str, line: str) -> None:
    assert formula_text(from_tex(tex)) == line


@pytest.mark.parametrize(
    ("tex", "line"),
    [
        (r"(1.2, \infty)", "(1.2, ∞)"),
        (r"5\,\upmu\mathrm{g}", "5 μg"),
        (r"\frac{{a - b}}{{\text{c}}}", "(a - b)/c"),
        (r"\tfrac12", "1/2"),
        (r"\left[0.5, 1.2\right)", "[0.5, 1.2)"),
        (r"\left(\frac{a}{b}\right)^2", "(a/b)^2"),
        (r"2\frac{a}{b}c", "2(a/b)c"),
        (r"10^{6-8}", "10^(6-8)"),
        (r"2^{-\Delta\Delta Ct}", "2^-ΔΔCt"),
        (r"e^{-x^2}", "e^(-x^2)"),
        (r"^{14}C", "^14C"),
        (r"37^{\circ}C", "37°C"),
        (r"\dot{V}O_2", "V̇O2"),
        (r"{\mathop V\limits^ \cdot }{\text{O}}_{2}", "V̇O2"),
        (r"\hat{\beta}_1 = -0.3", "β̂1 = -0.3"),
        (r"\sqrt[3]{27} + \sqrt[5]{x}", "∛(27) + root(5, x)"),
        (r"\sum_{i=1}^{n} x_i", "∑_(i=1)^n xi"),
        (r"\lim_{x \to 0} f(x)", "lim_(x→0) f(x)"),
        (r"\max_i x_i", "max_i xi"),
        (r"\binom{n}{k}", "(n choose k)"),
        (r"95\% \text{CI}: 0.5, 0.7", "95% CI: 0.5, 0.7"),
        (r"\text{if $x>0$ and}", "if x>0 and"),
        (r"\begin{cases}a & x>0\\ b & x \le 0\end{cases}", "{a, x > 0; b, x ≤ 0"),
        (r"\begin{document}$$P(A \mid B)$$\end{document}", "P(A|B)"),
        (r"\mathbf{x}^\top \mathbf{y}", "x^⊤ y"),
        (r"\eta _{p~}^{2}", "ηp^2"),
        (r"x \mystery y", r"x \mystery y"),
        (r"\ensuremath{x}\label{a}", "x"),
        ("", ""),
        ("{" * 3000, "{" * 3000),
        (r"\frac{a", "a"),
    ],
)
def test_tex(tex: str, line: str) -> None:
    assert formula_text(from_tex(tex)) == line


_MATHML = [
    ("<mfenced open='[' close=']'><mn>0.5</mn><mn>1.2</mn></mfenced>", "[0.5,1.2]"),
    ("<mfenced separators=';'><mi>a</mi><mi>b</mi><mi>c</mi></mfenced>", "(a;b;c)"),
    ("<mfenced open='' close='' separators=''><mi>a</mi><mi>b</mi></mfenced>", "ab"),
    ("<mroot><mn>27</mn><mn>3</mn></mroot>", "∛(27)"),
    ("<mroot><mi>x</mi><mi>n</mi></mroot>", "root(n, x)"),
    ("<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt>", "√(a+b)"),
    ("<msqrt><mrow><mo>(</mo><mi>a</mi><mo>)</mo></mrow></msqrt>", "√(a)"),
    ("<mmultiscripts><mi>C</mi><mprescripts/><none/><mn>14</mn></mmultiscripts>", "^14C"),
    ("<msup><mrow/><mn>14</mn></msup><mi>C</mi>", "^14C"),
    ("<msup><mn>10</mn><mrow><mo>−</mo><mn>6</mn></mrow></msup>", "10^−6"),
    ("<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>", "(a+b)^2"),
    ("<msup><mfrac><mi>a</mi><mi>b</mi></mfrac><mn>2</mn></msup>", "(a/b)^2"),
    ("<mfrac><mfrac><mi>a</mi><mi>b</mi></mfrac><mi>c</mi></mfrac>", "(a/b)/c"),
    ("<mfrac><mi>a</mi><mrow><mn>2</mn><mi>b</mi></mrow></mfrac>", "a/(2b)"),
    ("<mn>1</mn><mfrac><mn>1</mn><mn>2</mn></mfrac>", "1(1/2)"),
    ("<mfrac linethickness='0'><mi>n</mi><mi>k</mi></mfrac>", "n choose k"),
    ("<msub><mi>x</mi><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow></msub>", "x_(i+1)"),
    ("<msub><mi>SD</mi><mi>pre</mi></msub>", "SD_pre"),
    ("<msub><mi>log</mi><mn>2</mn></msub><mi>x</mi>", "log2x"),
    ("<munder><mo>lim</mo><mrow><mi>x</mi><mo>→</mo><mn>0</mn></mrow></munder><mi>y</mi>", "lim_(x→0) y"),
    (
        "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>x</mi>",
        "∑_(i=1)^n x",
    ),
    ("<mover><mi>V</mi><mo>˙</mo></mover><msub><mi>O</mi><mn>2</mn></msub><mi>max</mi>", "V̇O2max"),
    ("<mover><mi>x</mi><mo>¯</mo></mover><mo>±</mo><mi>SD</mi>", "x̄±SD"),
    ("<mi>log</mi><mi>x</mi>", "log x"),
    ("<mn>5</mn><mi>mg</mi>", "5 mg"),
    ("<mi>f</mi><msup><mrow/><mo>′</mo></msup><mo>(</mo><mi>x</mi><mo>)</mo>", "f′(x)"),
    ("<mn>37</mn><msup><mrow/><mo>∘</mo></msup><mi>C</mi>", "37°C"),
    ("<mtable><mtr><mtd>a</mtd><mtd>b</mtd></mtr><mtr><mtd>c</mtd><mtd>d</mtd></mtr></mtable>", "a, b; c, d"),
    ("<semantics><mi>x</mi><annotation>\\chi</annotation></semantics>", "x"),
    ("<mphantom><mi>x</mi></mphantom><mi>y</mi>", "y"),
    ("<mi mathvariant='bold'>𝐱</mi>", "x"),
    ("<mfrac><mi>a</mi></mfrac><msup/>", "a"),
    ("<mglyph alt='μ'/><mi>g</mi>", "μg"),
]


@pytest.mark.parametrize(("mathml", "line"), _MATHML)
def test_mathml(mathml: str, line: str) -> None:
    assert formula_text(parse_xml(f"<math>{mathml}</math>".encode(), name="formula")) == line


def _run(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def _e(*parts: str) -> str:
    return f"<m:e>{''.join(parts)}</m:e>"


_HALF = f"<m:f><m:num>{_run('a')}</m:num><m:den>{_run('b')}</m:den></m:f>"


@pytest.mark.parametrize(
    ("omml", "line"),
    [
        (f"<m:sSup>{_e(f'<m:d>{_e(_HALF)}</m:d>')}<m:sup>{_run('2')}</m:sup></m:sSup>", "(a/b)^2"),
        (
            (
                '<m:d><m:dPr><m:begChr m:val="["/><m:sepChr m:val=","/><m:endChr m:val="]"/></m:dPr>'
                f"{_e(_run('0.5'))}{_e(_run('1.2'))}</m:d>"
            ),
            "[0.5,1.2]",
        ),
        (f'<m:d><m:dPr><m:begChr m:val="{{"/><m:endChr m:val=""/></m:dPr>{_e(_run("a"))}</m:d>', "{a"),
        (f"<m:rad><m:deg/>{_e(_run('n'))}</m:rad>", "√(n)"),
        (f"<m:rad><m:deg>{_run('3')}</m:deg>{_e(_run('n'))}</m:rad>", "∛(n)"),
        (
            (
                f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{_run("i=1")}</m:sub><m:sup>{_run("n")}</m:sup>'
                f"{_e(_run('x'))}</m:nary>"
            ),
            "∑_(i=1)^n x",
        ),
        (f"<m:nary><m:sub/><m:sup/>{_e(_run('x'))}</m:nary>", "∫x"),
        (f"<m:sPre><m:sub/><m:sup>{_run('14')}</m:sup>{_e(_run('C'))}</m:sPre>", "^14C"),
        (f"<m:sSubSup>{_e(_run('η'))}<m:sub>{_run('p')}</m:sub><m:sup>{_run('2')}</m:sup></m:sSubSup>", "ηp^2"),
        (f"<m:func><m:fName>{_run('log')}</m:fName>{_e(_run('x'))}</m:func>", "log x"),
        (f"<m:limLow>{_e(_run('lim'))}<m:lim>{_run('n→∞')}</m:lim></m:limLow>", "lim_(n→∞)"),
        (f"<m:acc>{_e(_run('β'))}</m:acc>{_run('=0')}", "β̂=0"),
        (f"<m:bar>{_e(_run('x'))}</m:bar>", "x̄"),
        (
            f"<m:m><m:mr>{_e(_run('a'))}{_e(_run('b'))}</m:mr><m:mr>{_e(_run('c'))}{_e(_run('d'))}</m:mr></m:m>",
            "a, b; c, d",
        ),
        (f"<m:eqArr>{_e(_run('a=1'))}{_e(_run('b=2'))}</m:eqArr>", "a=1; b=2"),
        (
            f'<m:f><m:fPr><m:type m:val="noBar"/></m:fPr><m:num>{_run("n")}</m:num><m:den>{_run("k")}</m:den></m:f>',
            "n choose k",
        ),
        (f'<m:phant><m:phantPr><m:show m:val="0"/></m:phantPr>{_e(_run("x"))}</m:phant>{_run("y")}', "y"),
        (f"<m:box>{_e(_run('x'))}</m:box><m:del>{_run('old')}</m:del>", "x"),
        (f"{_run('a &lt; b')}", "a < b"),
        ("<m:box><m:e>" * 90 + _run("x") + "</m:e></m:box>" * 90, "x"),
    ],
)
def test_word(omml: str, line: str) -> None:
    paper = read_content(
        docx(paragraph("It is ", more=f"<m:oMath>{omml}</m:oMath><w:r><w:t>.</w:t></w:r>")), name="tea.docx"
    )
    assert paper.sentences[-1] == f"It is {line}."


def closely(line: str) -> str:
    """Return a line without the spaces around signs, and with one sign of those that look alike."""
    line = re.sub(r" ?([^\w ]) ?", r"\1", line.replace("\u200b", ""))
    return line.translate(str.maketrans("−∼⋅ℝ", "-~·R"))


@pytest.mark.parametrize(
    ("omml", "mathml", "line"),
    [(*both, line) for both, (_, line) in zip(zip(_PANDOC[::2], _PANDOC[1::2], strict=True), _TEX, strict=True)],
)
def test_one_formula_is_one_line_in_word_on_a_page_and_in_tex(omml: str, mathml: str, line: str) -> None:
    of_word = read_content(docx(paragraph("It is ", more=f"{omml}<w:r><w:t> here.</w:t></w:r>")), name="tea.docx")
    assert closely(of_word.sentences[-1]) == closely(f"It is {line} here.")
    of_page = read_content(page_of(f"<p>It is {mathml} here.</p>").encode(), name="tea.html")
    assert closely(of_page.sentences[2]) == closely(f"It is {line} here.")


def page_of(html: str) -> str:
    """Return a page with an article that is long enough to be one."""
    more = "<p>We gave tea to one hundred and twenty adults with high pressure in three towns of the north.</p>" * 3
    return f"<html><body><article><h1>Tea</h1><h2>Methods</h2>{html}{more}</article></body></html>"


_ASSISTIVE = "<math><mi>p</mi><mo>&lt;</mo><mn>0.05</mn></math>"


@pytest.mark.parametrize(
    ("html", "line"),
    [
        ('<script type="math/tex">n = 120</script>', "n = 120"),
        (
            '<span class="mathjax-tex"><span class="MathJax_Preview"></span><script type="math/tex">n</script></span>',
            "n",
        ),
        (
            (
                '<span class="MathJax_Preview">p &lt; 0.05</span><span class="MathJax"><span>p&lt;0.05</span>'
                f'<span class="MJX_Assistive_MathML">{_ASSISTIVE}</span></span><script type="math/tex">p</script>'
            ),
            "p<0.05",
        ),
        (
            (
                '<span class="MathJax_Preview">a</span><script type="math/tex">a</script> and '
                '<span class="MathJax_Preview">b</span><script type="math/tex">b</script>'
            ),
            "a and b",
        ),
        (
            (
                '<span class="MathJax_Preview">a</span><script type="math/tex">a</script>'
                '<span class="MathJax_Preview">b</span><script type="math/tex">b</script>'
            ),
            "ab",
        ),
        (
            (
                '<mjx-container><mjx-math aria-hidden="true"><mjx-mi></mjx-mi></mjx-math>'
                f"<mjx-assistive-mml>{_ASSISTIVE}</mjx-assistive-mml></mjx-container>"
            ),
            "p<0.05",
        ),
        (
            (
                '<span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>x</mi></mrow>'
                '<annotation encoding="application/x-tex">x</annotation></semantics></math></span>'
                '<span class="katex-html" aria-hidden="true"><span>x</span></span></span>'
            ),
            "x",
        ),
        (
            (
                '<span class="mwe-math-element"><span style="display: none;"><math><mi>n</mi></math></span>'
                r'<img alt="{\displaystyle n}"></span>'
            ),
            "n",
        ),
        (r'<img alt="{\displaystyle n=120}">', "n = 120"),
        ('<img src="le.gif" alt="≤">', "≤"),
        ('<img src="le.gif" alt="[less-than or equal to]">', "≤"),
        ('<img src="mu.gif" alt="Greek small letter mu">', "μ"),
    ],
)
def test_pages_of_which_one_form_stays(html: str, line: str) -> None:
    paper = read_content(page_of(f"<p>It is {html} here.</p>").encode(), name="tea.html")
    assert f"It is {line} here." in paper.sentences


def test_a_formula_on_a_line_of_its_own_is_counted_and_no_sentence() -> None:
    html = '<p>It is here.</p><span class="katex-display"><span class="katex"><math><mi>x</mi></math></span></span>'
    paper = read_content(page_of(html).encode(), name="tea.html")
    assert "display formula" in paper.loss.left_out


def test_a_command_that_nobody_knows_is_counted() -> None:
    body = "<p>It is <inline-formula><tex-math>$x \\mystery y$</tex-math></inline-formula>.</p>"
    paper = read_content(f"<article><body>{body}</body></article>".encode(), name="tea.xml")
    assert paper.sentences == ("It is x \\mystery y.",)
    assert paper.loss.left_out["unknown sign of a formula"].n_elements == 1


@pytest.mark.parametrize("alt", ["", "A cup of tea", "Figure 1", "x2", "image", "no such sign at all"])
def test_a_picture_that_is_no_sign_is_none(alt: str) -> None:
    assert sign_of(alt) == ""


_TOKENS = re.compile(r"[^\W_]")


@pytest.mark.data
def test_each_letter_and_digit_of_real_formulas_stands_in_their_lines() -> None:
    lines = set()
    for path in [*real_files("evidence_inference/xml/*.nxml"), *real_files("jats/*.nxml")]:
        content = path.read_bytes()
        if b"math" not in content:
            continue
        root = parse_xml(content, name=path.name)
        for formula in root.all("math"):
            line = formula_text(formula)
            written = "".join(leaf.text for leaf in formula.all("mi", "mn", "mo", "mtext"))
            missing = Counter(_TOKENS.findall(written)) - Counter(_TOKENS.findall(line))
            assert missing.total() <= 2, (path.name, written, line)  # styled letters and the degree of a root
            assert line.count("(") == line.count(")")
            lines.add(line)
        for formula in root.all("tex-math"):
            assert "\\" not in formula_text(from_tex(formula.raw_text)), (path.name, formula.raw_text)
    assert len(lines) > 40
