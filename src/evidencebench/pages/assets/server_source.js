// The records of the app, from its server.

const LONGEST_ASKED = 2000;

// Asks the server for the overview, the rows of the list, and each instance.
class ServerSource {
  #positions = new Map();

  async overview() {
    return askServer("/api/overview");
  }

  async rows(asked) {
    const found = await askServer("/api/rows", { query: asked });
    for (const row of found.rows) this.#positions.set(row.id, row.position);
    return found;
  }

  // The whole list, as it is found.
  linksOf(asked) {
    return [h("a.button", { download: "papers.csv", href: withQuery("/api/papers.csv", {}, asked) }, "Save as CSV")];
  }

  async pageParts() {
    return askServer("/api/page_parts");
  }

  async exchanges(id, system, task) {
    return askServer("/api/exchanges", { query: { id, system, task } });
  }

  // An id that is too long for an address is replaced by the position, which the list gave.
  async instance(id) {
    const isLong = encodeURIComponent(id).length > LONGEST_ASKED && this.#positions.has(id);
    return askServer("/api/instances", { query: isLong ? { position: this.#positions.get(id) } : { id } });
  }
}
