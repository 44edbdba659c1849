// The records of the app, which its server gives.

const LONGEST_ASKED = 2000;

// Everything is asked of the server that the page came from.
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

  // An id that is too long for an address is asked for by its position, which the list has told.
  async instance(id) {
    const isLong = encodeURIComponent(id).length > LONGEST_ASKED && this.#positions.has(id);
    return askServer("/api/instances", { query: isLong ? { position: this.#positions.get(id) } : { id } });
  }
}
