// Saves one paper as one small file: the same page with this paper only, which needs neither network nor other files.

function shareButton(source, overview, say) {
  return h("button.share", { onclick: share }, "Share", wide("\u00a0this paper"));

  async function share() {
    const { id, query } = readRoute();
    try {
      const [parts, record, { rows }] = await Promise.all([source.pageParts(), source.instance(id), source.rows({ q: id, n: 1 })]);
      const place = withQuery(`#/papers/${encodeURIComponent(id)}`, shared(query), {});
      const name = `paper_${id.replace(/[^\w.-]+/g, "_").slice(0, 80)}.html`;
      save(name, sharedPage(parts, place, { overview: { ...overview, n_instances: 1, has_exchanges: false }, rows, paper: record }));
      say(`Saved as ${name}: one file with this paper and what every system selected in it.`);
    } catch (error) {
      say(error.message);
    }
  }
}

/* The text of the file: policy, style and script of a report, and the data as JSON. `place` is the address inside it.
   JSON in a page holds no "<", so that no text can end its element. */
function sharedPage({ policy, style, script }, place, data) {
  const quoted = (text) => cleaned(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const elements = Object.entries(data).map(([id, value]) =>
    `<script type="application/json" id="${id}">${JSON.stringify(value).replaceAll("<", "\\u003c")}<\/script>\n`);
  const title = quoted(`${data.paper.paper.id} · ${data.overview.title}`);
  return [
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
    `<meta http-equiv="Content-Security-Policy" content="${quoted(policy)}">\n`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
    `<title>${title}</title>\n<style>${style}</style>\n</head>\n<body>\n`,
    `<header class="page-head"><p class="page-title">${title}</p></header>\n`,
    `<main id="results" hidden></main>\n<main id="viewer" data-place="${quoted(place)}" hidden></main>\n`,
    ...elements,
    `<script>${script}<\/script>\n</body>\n</html>\n`,
  ];
}

function save(name, parts) {
  const address = URL.createObjectURL(new Blob(parts, { type: "text/html" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // a browser may ask the reader first
}
