// Asks the page's own server; a refusal is thrown as an error, with the server's message and status.

class RefusalError extends Error {
  constructor(status, message, details = {}) {
    super(message);
    Object.assign(this, details, { status });
  }
}

const MOST_KEPT_ALIVE = 16_000; // characters; browsers allow 64 KiB

// Parameters of the query that are null or undefined are left out; a body is sent as JSON, a file as its bytes.
async function askServer(path, { method = "GET", query = {}, body, file } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const type = file ? "application/octet-stream" : "application/json";
  const sent = file ?? (body && JSON.stringify(body));
  const keepalive = method === "PUT" && sent.length <= MOST_KEPT_ALIVE; // what is saved arrives also where the page is closed
  const headers = { Accept: "application/json", ...((body || file) && { "Content-Type": type }) };
  let reply;
  try {
    reply = await fetch(`${path}?${new URLSearchParams(given)}`, { method, headers, body: sent, keepalive });
  } catch {
    throw new RefusalError(0, "The app does not answer; is “evidencebench” still running?");
  }
  const found = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new RefusalError(reply.status, found.error ?? `The app answers with status ${reply.status}.`, found);
  return found;
}
