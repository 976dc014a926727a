import type {
  Endpoints,
  MemoryAnswer,
  MemoryQuery,
  Remembered,
  Turn,
} from "./endpoints.js";

export type * from "./endpoints.js";

export interface Options {
  /** Address of the service, such as http://127.0.0.1:8460. */
  url: string;
  /** API key: sk_ and hexadecimal characters. */
  key: string;
  /** Time limit of one attempt, in milliseconds. Default: 60,000. */
  timeoutMs?: number;
  /** Default: the global fetch. */
  fetch?: typeof globalThis.fetch;
}

/** An error response of the service. */
export class ServiceError extends Error {
  readonly status: number;
  /** Stable error code. */
  readonly error: string;
  /** The whole body. */
  readonly problem: Record<string, unknown>;
}

/** Input of an endpoint. Writes are sent with an Idempotency-Key; default: a random one. */
export type Input<E extends keyof Endpoints> = Omit<Endpoints[E], "answer"> & {
  idempotencyKey?: string;
};

/** Calls the endpoints of one service with one key; retries lost connections, 429 and 503. */
export class Remembrancer {
  constructor(options: Options);
  /** Call an endpoint, such as call("POST /api/v7/memory", { body }). Raises ServiceError. */
  call<E extends keyof Endpoints>(endpoint: E, input?: Input<E>): Promise<Endpoints[E]["answer"]>;
  /** Search memory. `work` has the error, tools and files of the turn, to choose lessons for it. */
  search(body: MemoryQuery): Promise<MemoryAnswer>;
  /** Store a turn. */
  remember(body: Turn): Promise<Remembered>;
}
