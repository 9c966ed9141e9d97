// The typed client of the server's /v1 routes.

import { decodeAttention, type Attention } from "./attention";
import { serverEvents } from "./events";

/** An image classifier. */
export interface Model {
  name: string;
  kind?: "classifier";
  family: string;
  task: string;
  image: number;
  classes: number;
  class_names: string[];
  parameters: number;
  explain: string[];
  /** How the server prepares an image, where it says so: short side to `resize`, then the centre;
   * or, with `stretch`, the whole image. */
  resize?: number;
  stretch?: boolean;
}

export interface ImageShape {
  width: number;
  height: number;
  channels: number;
}

/** A model that predicts the next token: of images, or of texts (`image` is null). */
export interface Generator {
  name: string;
  kind: "generator";
  unit: "bytes" | "pixels" | "words";
  image: ImageShape | null;
  /** Tokens of the longest sequence. */
  context: number;
  /** The words that a model of words knows. */
  vocabulary?: string[];
}

/** A model that adds two numbers. */
export interface Adder {
  name: string;
  kind: "adder";
}

export type Served = Model | Generator | Adder;

export const classifiersOf = (all: Served[]): Model[] =>
  all.filter((m): m is Model => (m.kind ?? "classifier") === "classifier");
export const generatorsOf = (all: Served[]): Generator[] =>
  all.filter((m): m is Generator => m.kind === "generator");
export const addersOf = (all: Served[]): Adder[] => all.filter((m): m is Adder => m.kind === "adder");

export interface Prediction {
  label: string;
  index: number;
  probability: number;
}

export interface Classification {
  model: string;
  predictions: Prediction[];
  milliseconds: number;
}

export interface Explanation {
  model: string;
  method: string;
  class: { label: string; index: number };
  grid: [number, number];
  values: number[];
  predictions: Prediction[];
}

export interface Lens {
  layers: { name: string; predictions: Prediction[] }[];
}

/** Weights of one layer: by head, query and key. */
export interface HeadsOfTokens {
  heads: number[][][];
}

export interface Sentence {
  model: string;
  tokens: string[];
  layers: HeadsOfTokens[];
  next: { word: string; probability: number }[];
}

export interface Sum {
  model: string;
  a: number;
  b: number;
  sum: number;
  expected: number;
  probability: number;
  /** The most significant one first. */
  digits: { digit: number; probabilities: number[] }[];
  tokens: string[];
  /** None for a network without attention. */
  layers: HeadsOfTokens[];
}

/** One head at work for one query. */
export interface HeadVectors {
  q: number[];
  k: number[][];
  v: number[][];
  /** What softmax is applied to. */
  scores: number[];
  weights: number[];
  scale: number;
}

export interface SampleOptions {
  model: string;
  count: number;
  temperature: number;
  /** 0: any token may be sampled. */
  top_k: number;
  seed: number;
}

export interface GenerationStart {
  model: string;
  unit: Generator["unit"];
  count: number;
  /** Tokens of a whole sequence, and how many of them were given. */
  total: number;
  kept: number;
  image: ImageShape | null;
}

/** Bytes of the images at places that all of them share, or the pieces that the texts grow by. */
export type GenerationTokens = { at: number[]; values: number[][] } | { texts: string[] };

export type GenerationEvent =
  | ({ event: "start" } & GenerationStart)
  | ({ event: "tokens" } & GenerationTokens)
  | { event: "end"; tokens: number; seconds: number };

/** What is switched off: heads as [layer, head], layers, and patches in row-major order. */
export interface Switch {
  heads: [number, number][];
  layers: number[];
  patches: number[];
  /** Rows and columns that the patches count in. */
  grid?: [number, number];
}

export interface Run {
  name: string;
  model: string;
  dataset: string;
  state: string;
  epochs: number;
  best: Record<string, number | string>;
  modified: number;
}

/** A line of metrics.jsonl. */
export type MetricLine = { kind: string; epoch: number; step: number; time: number } & Record<
  string,
  number | string
>;

/** How often a true class was taken for each class: the cells that are not 0. */
export interface Confusion {
  classes: string[];
  examples: number;
  /** [true class, predicted class, examples]. */
  cells: [number, number, number][];
}

/** What a classifier answered to an example of its test set. */
export interface TestExample {
  index: number;
  true: number;
  predicted: number;
  /** Of the predicted class. */
  probability: number;
  true_probability: number;
}

export interface SweepMetric {
  name: string;
  unit: string;
  higher_is_better: boolean;
  log_scale: boolean;
}

/** A run of a sweep; one that failed has an error and no results. */
export interface SweepRun {
  name: string;
  seed: number;
  state: string;
  /** The text of each varied key; null: as in the recipe. */
  settings: Record<string, string | null>;
  validation?: number | null;
  test?: number | null;
  seconds?: number;
  error?: string;
}

export interface Sweep {
  name: string;
  recipe: string;
  varied: string[];
  /** Null before the first result. */
  metric: SweepMetric | null;
  /** Runs in all. */
  planned: number;
  runs: SweepRun[];
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A refusal of the server, or its absence (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Seconds after which a busy server may be asked again. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

const kToken = "vitrine.token";

export function setToken(token: string): void {
  sessionStorage.setItem(kToken, token);
}

async function errorOf(response: Response): Promise<ApiError> {
  let text = response.statusText;
  try {
    text = ((await response.json()) as { error?: string }).error ?? text;
  } catch {
    // no JSON: the status line has to do
  }
  const wait = Number(response.headers.get("Retry-After"));
  return new ApiError(response.status, text, response.status === 503 ? wait || 1 : undefined);
}

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const token = sessionStorage.getItem(kToken);
  const headers = token ? { Authorization: `Bearer ${token}` } : undefined;
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, String(error));
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function json<T>(path: string, init?: RequestInit): Promise<T> {
  return (await (await request(path, init)).json()) as T;
}

function query(parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return "?" + new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
}

function post(body: BodyInit, signal?: AbortSignal): RequestInit {
  return { method: "POST", body, signal };
}

const postJson = (content: object, signal?: AbortSignal) =>
  post(new Blob([JSON.stringify(content)], { type: "application/json" }), signal);

/** Bytes that have come of an answer, and all of them where the server says how many. */
export type Progress = (loaded: number, total: number | undefined) => void;

async function bytesOf(response: Response, progress: Progress): Promise<ArrayBuffer> {
  const total = Number(response.headers.get("Content-Length")) || undefined;
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let loaded = 0;
  const reader = response.body!.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    progress((loaded += part.value.length), total);
  }
  return new Blob(parts).arrayBuffer();
}

/** The events of a generation. One that breaks off, or that the server gives up, throws. */
async function* generation(path: string, init: RequestInit): AsyncGenerator<GenerationEvent> {
  const response = await request(path, init);
  for await (const { event, data } of serverEvents(response.body!)) {
    const content = JSON.parse(data);
    if (event === "error") throw new ApiError(500, content.error);
    yield { event, ...content };
    if (event === "end") return;
  }
  throw new ApiError(0, "the stream of events ended early");
}

const runPath = (name: string, what: string) => `/v1/runs/${encodeURIComponent(name)}/${what}`;

export const api = {
  async models(signal?: AbortSignal): Promise<Served[]> {
    return (await json<{ models: Served[] }>("/v1/models", { signal })).models;
  },
  classify: (model: string, image: Blob, top: number, signal?: AbortSignal) =>
    json<Classification>("/v1/classify" + query({ model, top }), post(image, signal)),
  explain: (
    model: string,
    image: Blob,
    method: string,
    target: number | undefined,
    signal?: AbortSignal,
  ) =>
    json<Explanation>(
      "/v1/explain" + query({ model, method, class: target }),
      post(image, signal),
    ),
  async attention(
    model: string,
    image: Blob,
    signal: AbortSignal,
    progress: Progress,
  ): Promise<Attention> {
    const response = await request("/v1/attention" + query({ model }), post(image, signal));
    return decodeAttention(await bytesOf(response, progress));
  },
  lens: (model: string, image: Blob, signal?: AbortSignal) =>
    json<Lens>("/v1/lens" + query({ model }), post(image, signal)),
  ablate(model: string, image: Blob, off: Switch, top: number, signal?: AbortSignal) {
    const form = new FormData();
    form.append("image", image);
    form.append("switch", JSON.stringify(off));
    return json<Classification>("/v1/ablate" + query({ model, top }), post(form, signal));
  },
  head: (model: string, image: Blob, layer: number, head: number, token: number, signal?: AbortSignal) =>
    json<HeadVectors>("/v1/head" + query({ model, layer, head, query: token }), post(image, signal)),
  sentence: (model: string, text: string, signal?: AbortSignal) =>
    json<Sentence>("/v1/sentence", postJson({ model, text }, signal)),
  add: (model: string, a: number, b: number, signal?: AbortSignal) =>
    json<Sum>("/v1/add", postJson({ model, a, b }, signal)),
  /** Generates from nothing or, for texts, from how they begin. */
  sample: (options: SampleOptions, text: string | undefined, signal: AbortSignal) =>
    generation("/v1/sample", postJson({ ...options, text }, signal)),
  /** Keeps a fraction of the rows of an image and generates the rest. */
  complete: (options: SampleOptions, image: Blob, keep: number, signal: AbortSignal) =>
    generation("/v1/complete" + query({ ...options, keep }), post(image, signal)),
  async runs(signal?: AbortSignal): Promise<Run[]> {
    return (await json<{ runs: Run[] }>("/v1/runs", { signal })).runs;
  },
  metrics: (name: string, signal?: AbortSignal) =>
    json<MetricLine[]>(runPath(name, "metrics"), { signal }),
  async recipe(name: string, signal?: AbortSignal): Promise<string> {
    return (await request(runPath(name, "recipe"), { signal })).text();
  },
  result: (name: string, signal?: AbortSignal) =>
    json<{ [key: string]: Json }>(runPath(name, "result"), { signal }),
  confusion: (name: string, signal?: AbortSignal) =>
    json<Confusion>(runPath(name, "confusion"), { signal }),
  /** The first examples of a cell of the confusion matrix, the most confident first. */
  cell: (name: string, truth: number, predicted: number, limit: number, signal?: AbortSignal) =>
    json<{ total: number; examples: TestExample[] }>(
      runPath(name, "predictions") + query({ true: truth, predicted, limit }),
      { signal },
    ),
  async testImage(name: string, index: number, signal?: AbortSignal): Promise<Blob> {
    return (await request(runPath(name, `images/${index}`), { signal })).blob();
  },
  async sweeps(signal?: AbortSignal): Promise<{ name: string; modified: number }[]> {
    return (await json<{ sweeps: { name: string; modified: number }[] }>("/v1/sweeps", { signal })).sweeps;
  },
  sweep: (name: string, signal?: AbortSignal) =>
    json<Sweep>(`/v1/sweeps/${encodeURIComponent(name)}`, { signal }),
};
