// Client of Remembrancer. Needs `fetch`: Node 18, Deno, Bun, or a browser of the same origin.

const RETRIES = 3;
const PAUSE_MS = 250; // before the first retry; doubled before each further one
const PAUSE_MS_MAX = 5000;
const RETRY_STATUSES = [429, 503];

/** An error response of the service. */
export class ServiceError extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.error?.message ?? `HTTP ${status}`);
    this.name = "ServiceError";
    this.status = status;
    this.error = problem.error?.code ?? problem.error ?? "unknown";
    this.problem = problem;
  }
}

/** Calls the endpoints of one service with one key. */
export class Remembrancer {
  #url;
  #key;
  #fetch;
  #timeoutMs;

  constructor({ url, key, timeoutMs = 60_000, fetch = globalThis.fetch }) {
    this.#url = String(url).replace(/\/+$/, "");
    this.#key = key;
    this.#fetch = fetch;
    this.#timeoutMs = timeoutMs;
  }

  /** Call an endpoint, such as call("POST /api/v7/memory", { body }). */
  async call(endpoint, { path = {}, query = {}, body, idempotencyKey } = {}) {
    const [method, template] = endpoint.split(" ");
    const filled = template.replace(/\{(\w+)\}/g, (_, name) => {
      if (path[name] === undefined) throw new TypeError(`path.${name} is missing`);
      return encodeURIComponent(path[name]);
    });
    const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = pairs.length ? `?${new URLSearchParams(pairs.map(([k, v]) => [k, textOf(v)]))}` : "";
    const headers = { Authorization: `Bearer ${this.#key}`, Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    // The same key with every attempt: a write whose answer was lost is not repeated.
    if (method !== "GET") headers["Idempotency-Key"] = idempotencyKey ?? crypto.randomUUID();
    const request = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    return this.#send(this.#url + filled + search, request);
  }

  /** Search memory. `work` has the error, tools and files of the turn, to choose lessons for it. */
  search(body) {
    return this.call("POST /api/v7/memory", { body });
  }

  /** Store a turn. */
  remember(body) {
    return this.call("POST /api/v7/remember", { body });
  }

  async #send(url, request) {
    for (let attempt = 0; ; attempt += 1) {
      const signal = AbortSignal.timeout(this.#timeoutMs);
      let response;
      try {
        response = await this.#fetch(url, { ...request, signal });
      } catch (error) {
        if (attempt >= RETRIES || error.name === "TimeoutError") throw error;
        await pause(attempt);
        continue;
      }
      if (response.ok) return read(response);
      if (!RETRY_STATUSES.includes(response.status) || attempt >= RETRIES) {
        throw new ServiceError(response.status, await problemOf(response));
      }
      await response.body?.cancel();
      await pause(attempt, Number(response.headers.get("Retry-After")) * 1000);
    }
  }
}

function pause(attempt, wishedMs = 0) {
  const ms = Math.min(Math.max(wishedMs || 0, PAUSE_MS * 2 ** attempt), PAUSE_MS_MAX);
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function read(response) {
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
  return isJson ? response.json() : response.text();
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}

/** A value of a query: an object, such as filters, is sent as JSON. */
function textOf(value) {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
