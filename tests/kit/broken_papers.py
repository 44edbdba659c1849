"""Small papers of our own, and ways to break them."""

import copy
import random
from collections.abc import Callable
from xml.etree import ElementTree as ET

ARTICLE = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.2 20190208//EN" "JATS-archivearticle1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML" xml:lang="en">
<front><article-meta>
<article-id pub-id-type="pmcid">PMC42</article-id><article-id pub-id-type="doi">10.1000/tea</article-id>
<title-group><article-title>Green tea and β-blockers: a trial</article-title></title-group>
<abstract><sec><title>Background</title><p>It is not known whether tea lowers blood pressure.</p></sec>
<sec><title>Results</title><p>Pressure fell by 3.1 mmHg (95% CI 1.0 to 5.2; <italic>p</italic> &lt; 0.05).</p></sec>
</abstract></article-meta></front>
<body><sec id="s1"><title>Methods</title>
<p>We gave 10<sup>6</sup> cups of tea<xref ref-type="bibr" rid="b1">1</xref> to adults, i.e. H<sub>2</sub>O &amp;
leaves. Each cup held 5 µg·kg<sup>\N{MINUS SIGN}1</sup> of &#x3b1;-catechin &#8212; see Fig. 2.</p>
<table-wrap id="t1"><caption><p>Cups.</p></caption><table><tr><td>1</td><td>2 &lt; 3</td></tr></table></table-wrap>
<sec><title>Measures</title><p>Pressure was taken <bold>twice</bold>.<!-- by a nurse --></p>
<list><list-item><p>On day 1.</p></list-item><list-item><p>On day 8.</p></list-item></list>
<disp-formula><mml:math><mml:mi>x</mml:mi><mml:mo>≤</mml:mo><mml:mn>2</mml:mn></mml:math></disp-formula></sec></sec>
<sec><title>Results</title><p><![CDATA[Pressure fell where x < 2.]]> It rose <?pagebreak 7?>again.</p></sec></body>
<back><ack><p>We thank the nurses.</p></ack>
<ref-list><ref id="b1"><mixed-citation>Tea. 2001.</mixed-citation></ref></ref-list></back></article>
"""
PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Green tea - PMC</title><script>var a = "<p>";</script></head><body>
<nav><a href="/">Home</a></nav><main><article><header><h1>Green tea and &beta;-blockers: a trial</h1></header>
<section class="abstract" id="abstract1"><h2>Abstract</h2><section><h3>Background</h3><p>It is not known whether tea
lowers blood pressure.</p></section><p>Pressure fell by 3.1&nbsp;mmHg (<i>p</i> &lt; 0.05).</p></section>
<section id="s1"><h2 class="pmc_sec_title">Methods</h2>
<p>We gave 10<sup>6</sup> cups of tea<sup>[<a href="#b1">1</a>]</sup> to adults, i.e. H<sub>2</sub>O &amp; leaves.<br>
Each cup held 5 µg.<p>Pressure was taken twice.<ul><li>On day 1.<li>On day 8.</ul><table><tr><td>1<td>2</table>
<figure><img src=x><figcaption>Cups.</figcaption></figure><pre>x = 2</pre></section>
<section><h2>Results</h2><p>Pressure fell where it was high.</p>It rose <b>again <i>on</b> day 9</i>.</section>
</article></main><footer>Copyright</footer><!-- by a nurse --></body></html>
"""
MARKDOWN = """\
# Green tea: a trial

## Abstract

It is **not** known whether tea lowers pressure. Pressure fell.

## Methods

We gave tea[^1] to adults; see [Fig. 2](x.png). It was hot, i.e. at 90 °C.

* On day 1.
* On day 8.

| a | b |
|---|---|
| 1 | 2 |

> Quoted `code` and $x < 2$.

[^1]: By a nurse.
"""
TEXT = """Green tea: a trial

Abstract
It is not known whether tea lowers blood pres-
sure. Pressure fell by 3.1 mmHg (95% CI 1.0 to 5.2;
p < 0.05).

1. Methods
We gave tea to adults, i.e. to 120 of them. Each cup held
5 µg. Pressure was taken twice.

\x0cReferences
1. Tea. 2001.
"""
TEI = """\
<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader xml:lang="en"><fileDesc><titleStmt>
<title level="a" type="main">Green tea and β-blockers: a trial</title></titleStmt></fileDesc>
<profileDesc><abstract><div><p><s>It is not known whether tea lowers pressure.</s></p></div></abstract></profileDesc>
</teiHeader><text><body><div><head n="1">Methods</head>
<p>We gave tea <ref type="bibr" target="#b0">[1]</ref> to adults.</p><formula xml:id="f0">x &lt; 2</formula></div>
<div><head n="2">Results</head><p>It fell by 3.1 mmHg. It rose again.</p></div>
<figure type="table"><table><row><cell>1</cell></row></table></figure><note place="foot">By a nurse.</note></body>
<back><div type="references"><listBibl><biblStruct/></listBibl></div></back></text></TEI>
"""
BIOC_XML = """\
<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE collection SYSTEM "BioC.dtd">
<collection><source>PMC</source><document><id>42</id>
<passage><infon key="section_type">TITLE</infon><offset>0</offset><text>Green tea</text></passage>
<passage><infon key="type">title_1</infon><offset>10</offset><text>Methods</text></passage>
<passage><infon key="section_type">METHODS</infon><infon key="type">paragraph</infon><offset>18</offset>
<text>We gave tea to adults, i.e. H2O &amp; leaves. It fell by 3.1 mmHg (p &lt; 0.05).</text></passage>
<passage><infon key="section_type">TABLE</infon><offset>97</offset><text>1 2</text></passage>
</document></collection>
"""
BIOC_JSON = """\
[{"source": "PMC", "documents": [{"id": "PMC42", "infons": {}, "passages": [
{"offset": 0, "infons": {"section_type": "TITLE", "type": "front"}, "text": "Green tea", "sentences": []},
{"offset": 10, "infons": {"section_type": "RESULTS", "type": "title_1"}, "text": "Results", "sentences": []},
{"offset": 18, "infons": {"section_type": "RESULTS", "type": "paragraph"}, "text": "It fell by 3 mmHg. It rose."},
{"offset": 54, "infons": {"section_type": "REF", "type": "ref"}, "text": "Tea. 2001."}]}]}]
"""
OTHERS = {
    "page": PAGE, "markdown": MARKDOWN, "text": TEXT, "TEI": TEI, "BioC XML": BIOC_XML, "BioC JSON": BIOC_JSON
}  # fmt: skip

# What no article holds, or holds once and in its place.
STRANGE = (
    "<", ">", "&", "]]>", "<![CDATA[", "<!--", "-->", "<?xml?>", "<!DOCTYPE a [", "<!ENTITY a 'b'>", "\x00", "\ufffe",
    "<p", "</p>", "</article>", "<article>", "<body>", "</body>", "<front>", "<sec>", "<sub-article>", "<table>",
    "<mi>", "&#0;", "&#x110000;", "&#xd800;", "&nbsp;", "&none;", "\u202e", " xmlns=''", " a='1' a='2'",
)  # fmt: skip
LONG = [part * 3000 for part in ("<italic>", "(", ".", "1.", " ", "a", "A. ", "<p>A. ", "&amp;", "<!-- -->")]


def mutated(rng: random.Random, content: bytes) -> bytes:
    """Return an article to which one to three things were done."""
    for _ in range(rng.randint(1, 3)):
        place, other = sorted((rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)))
        head, part, tail = content[:place], content[place:other], content[other:]
        content = rng.choice(_MUTATIONS)(rng, head, part, tail) or b"<"
    return content


def _swap_tags(rng: random.Random, head: bytes, part: bytes, tail: bytes) -> bytes:
    content = head + part + tail
    tags = [one.partition(b">")[0] for one in content.split(b"<")[1:]] or [b"p"]
    return content.replace(b"<" + rng.choice(tags), b"<" + rng.choice(tags), rng.randint(1, 3))


_MUTATIONS: tuple[Callable[[random.Random, bytes, bytes, bytes], bytes], ...] = (
    _swap_tags,
    lambda rng, head, part, tail: head + rng.randbytes(rng.randint(1, 4)) + (part + tail)[1:],
    lambda _, head, __, ___: head,
    lambda _, __, part, tail: part + tail,
    lambda _, head, __, tail: head + tail,
    lambda rng, head, part, tail: head + part * rng.randint(2, 20) + tail,
    lambda rng, head, part, tail: head + rng.choice(STRANGE).encode() + part + tail,
    lambda rng, head, part, tail: head + rng.choice(LONG).encode() + part + tail,
)


# Names of JATS, most of which the article has not: a reader treats them in its own way.
TAGS = (
    "p", "sec", "title", "abstract", "body", "back", "front", "article", "sub-article", "response", "list", "list-item",
    "def-list", "def-item", "term", "def", "table", "table-wrap", "fig", "caption", "disp-formula", "inline-formula",
    "math", "mi", "mfrac", "mrow", "tex-math", "alternatives", "sup", "sub", "italic", "xref", "ref", "ref-list", "fn",
    "fn-group", "boxed-text", "disp-quote", "verse-group", "statement", "supplementary-material", "graphic", "media",
    "label", "ack", "app", "glossary", "floats-group", "article-meta", "article-title", "title-group", "subtitle",
    "kwd-group", "trans-abstract", "article-id", "named-content", "break", "ext-link", "hr",
)  # fmt: skip


def restructured(rng: random.Random, content: str) -> bytes:
    """Return an article whose elements were renamed, repeated, deleted and emptied: well-formed, and no paper."""
    root = ET.fromstring(content)  # noqa: S314 - our own article
    for _ in range(rng.randint(1, 12)):
        elements = list(root.iter())
        chosen, other = rng.choice(elements), rng.choice(elements)
        match rng.randrange(6):
            case 0:
                chosen.tag = rng.choice(TAGS)
            case 1 | 2:
                chosen.insert(rng.randint(0, len(chosen)), copy.deepcopy(other))
            case 3:
                for parent in elements:
                    if chosen in list(parent):
                        parent.remove(chosen)
            case 4:
                chosen.text, chosen.tail = rng.choice(["", " ", "A.", "3", "\u200b"]), rng.choice(["", " Tea.", "\n"])
            case _:
                chosen.attrib |= {
                    rng.choice(["id", "rid", "sec-type", "abstract-type", "pub-id-type"]): rng.choice(TAGS)
                }
    return ET.tostring(root)
