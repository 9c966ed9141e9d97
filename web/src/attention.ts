// Attention weights as the server sends them, and what the page computes from them.

import type { Prediction } from "./api";

/** The tokens of a layer: `prefix` tokens without a position (a class token), then a grid. */
export interface Grid {
  rows: number;
  columns: number;
  prefix: number;
}

export interface Layer {
  name: string;
  heads: number;
  queries: Grid;
  keys: Grid;
  offset: number;
  scale: number[];
}

export interface Attention {
  model: string;
  predictions: Prediction[];
  layers: Layer[];
  data: Uint8Array;
}

/** A point of the image, both coordinates in 0..1; null is the class token, or the mean over the
 * queries of a layer that has none. */
export type Point = { y: number; x: number } | null;

/** "from": where the chosen token looks. "to": who looks at it. */
export type Direction = "from" | "to";

/** The mean over the heads, where an index of a head is expected. */
export const kMeanHead = -1;

/** A map over the image. `prefix`: the weights of tokens without a position. */
export interface AttentionMap {
  rows: number;
  columns: number;
  values: Float32Array;
  prefix: number[];
}

export const tokens = (grid: Grid): number => grid.prefix + grid.rows * grid.columns;

/** Reads a uint32 length, a JSON header of that length and the bytes behind it. */
export function decodeAttention(buffer: ArrayBuffer): Attention {
  if (buffer.byteLength < 4) throw new Error("attention: the answer has no header");
  const length = new DataView(buffer).getUint32(0, true);
  if (4 + length > buffer.byteLength)
    throw new Error(`attention: a header of ${length} bytes in ${buffer.byteLength}`);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const data = new Uint8Array(buffer, 4 + length);
  for (const layer of header.layers as Layer[]) {
    const end = layer.offset + layer.heads * tokens(layer.queries) * tokens(layer.keys);
    if (end > data.length || layer.scale.length !== layer.heads)
      throw new Error(`attention: layer ${layer.name} ends at byte ${end} of ${data.length}`);
  }
  return { ...header, data };
}

/** The index of the token at a point of the image. */
export function tokenAt(grid: Grid, point: { y: number; x: number }): number {
  const cell = (part: number, count: number) =>
    Math.min(count - 1, Math.max(0, Math.floor(part * count)));
  return grid.prefix + cell(point.y, grid.rows) * grid.columns + cell(point.x, grid.columns);
}

/** The bytes of one head, (queries, keys), and what one of them is worth. */
function headBytes({ data }: Attention, layer: Layer, head: number) {
  const size = tokens(layer.queries) * tokens(layer.keys);
  const begin = layer.offset + head * size;
  return { bytes: data.subarray(begin, begin + size), scale: layer.scale[head]! };
}

function headsOf(layer: Layer, head: number): number[] {
  return head === kMeanHead ? Array.from({ length: layer.heads }, (_, i) => i) : [head];
}

/** Means over the queries, by offset of the head: they take all bytes of it, and several views ask. */
const kMeans = new WeakMap<Attention, Map<number, Float32Array>>();

/** The mean over the queries of one head. */
function meanRow(a: Attention, layer: Layer, head: number): Float32Array {
  const known = kMeans.get(a) ?? new Map<number, Float32Array>();
  kMeans.set(a, known);
  const { bytes, scale } = headBytes(a, layer, head);
  const keys = tokens(layer.keys);
  let out = known.get(bytes.byteOffset);
  if (out) return out;
  const sums = new Float64Array(keys);
  for (let begin = 0; begin < bytes.length; begin += keys)
    for (let k = 0; k < keys; ++k) sums[k]! += bytes[begin + k]!;
  out = Float32Array.from(sums, (sum) => (sum * scale) / tokens(layer.queries));
  known.set(bytes.byteOffset, out);
  return out;
}

/** The attention weights of one token over all keys, averaged over the heads asked for. */
export function weightsFrom(a: Attention, layer: Layer, head: number, at: Point): Float32Array {
  const keys = tokens(layer.keys);
  const out = new Float32Array(keys);
  const heads = headsOf(layer, head);
  const whole = at === null && layer.queries.prefix === 0;
  const first = at === null ? 0 : keys * tokenAt(layer.queries, at);
  for (const h of heads) {
    if (whole) {
      meanRow(a, layer, h).forEach((weight, k) => (out[k]! += weight / heads.length));
      continue;
    }
    const { bytes, scale } = headBytes(a, layer, h);
    for (let k = 0; k < keys; ++k) out[k]! += (bytes[first + k]! * scale) / heads.length;
  }
  return out;
}

/** The attention weights that all queries give to one token; no class token: to all of them. */
export function weightsTo(a: Attention, layer: Layer, head: number, at: Point): Float32Array {
  const queries = tokens(layer.queries);
  const keys = tokens(layer.keys);
  const key = at === null ? 0 : tokenAt(layer.keys, at);
  const out = new Float32Array(queries);
  const heads = headsOf(layer, head);
  for (const h of heads) {
    const { bytes, scale } = headBytes(a, layer, h);
    for (let q = 0; q < queries; ++q) out[q]! += (bytes[q * keys + key]! * scale) / heads.length;
  }
  return out;
}

/** The same as a map over the image. Who looks at it needs a token: without one, where it looks. */
export function attentionMap(
  a: Attention,
  layer: Layer,
  head: number,
  at: Point,
  direction: Direction,
): AttentionMap {
  const to = direction === "to" && (at !== null || layer.keys.prefix > 0);
  const grid = to ? layer.queries : layer.keys;
  const weights = (to ? weightsTo : weightsFrom)(a, layer, head, at);
  return {
    rows: grid.rows,
    columns: grid.columns,
    values: weights.subarray(grid.prefix),
    prefix: [...weights.subarray(0, grid.prefix)],
  };
}

export interface HeadNumbers {
  /** Mean distance between query and key in pixels, weighted by attention. */
  distance: number;
  /** Entropy over the keys divided by the logarithm of their number: 1 is uniform. */
  entropy: number;
}

/** Squared distances along one axis between the cells of queries and keys, (queries, keys). */
function squares(queries: number, keys: number, image: number): Float64Array {
  const out = new Float64Array(queries * keys);
  for (let q = 0; q < queries; ++q)
    for (let k = 0; k < keys; ++k)
      out[q * keys + k] = (((q + 0.5) / queries - (k + 0.5) / keys) * image) ** 2;
  return out;
}

/** How often each value occurs. */
function counts(values: Float64Array): Map<number, number> {
  const out = new Map<number, number>();
  for (const value of values) out.set(value, (out.get(value) ?? 0) + 1);
  return out;
}

/** What `distance` is for uniform attention. */
export function uniformDistance({ queries, keys }: Layer, image: number): number {
  const down = squares(queries.rows, keys.rows, image);
  const right = squares(queries.columns, keys.columns, image);
  const columns = counts(right);
  let sum = 0;
  for (const [y, often] of counts(down))
    for (const [x, times] of columns) sum += often * times * Math.sqrt(y + x);
  return sum / (down.length * right.length);
}

/** The distance of one query, (row, column), from the keys that its bytes weigh. */
function distanceOfRow(bytes: Uint8Array, begin: number, down: Float64Array, right: Float64Array): number {
  let sum = 0;
  let far = 0;
  for (let r = 0, at = begin; r < down.length; ++r)
    for (let c = 0; c < right.length; ++c, ++at) {
      const byte = bytes[at]!;
      if (byte === 0) continue;  // most of them, where attention is in windows
      sum += byte;
      far += byte * Math.sqrt(down[r]! + right[c]!);
    }
  return sum > 0 ? far / sum : 0;
}

/** b log b of every byte: the entropy needs no other logarithm. */
const kByteLog = Float64Array.from({ length: 256 }, (_, b) => (b === 0 ? 0 : b * Math.log(b)));

function entropyOfRow(bytes: Uint8Array, begin: number, keys: number): number {
  let sum = 0;
  let logs = 0;
  for (let k = begin; k < begin + keys; ++k) {
    sum += bytes[k]!;
    logs += kByteLog[bytes[k]!]!;
  }
  return sum === 0 ? 0 : (Math.log(sum) - logs / sum) / Math.log(keys);
}

/** Distance and entropy of every head of a layer. */
export function headNumbers(a: Attention, layer: Layer, image: number): HeadNumbers[] {
  return Array.from({ length: layer.heads }, (_, head) => numbersOfHead(a, layer, head, image));
}

/** Distance and entropy of a head, as `vitrine explain` defines them: distance over tokens with a
 * position; entropy of the class token or, without one, averaged over the queries. */
export function numbersOfHead(a: Attention, layer: Layer, head: number, image: number): HeadNumbers {
  const { bytes } = headBytes(a, layer, head);
  const { queries, keys } = layer;
  const count = tokens(keys);
  const down = squares(queries.rows, keys.rows, image);
  const right = squares(queries.columns, keys.columns, image);
  let distance = 0;
  for (let r = 0, q = queries.prefix; r < queries.rows; ++r) {
    const rows = down.subarray(r * keys.rows, (r + 1) * keys.rows);
    for (let c = 0; c < queries.columns; ++c, ++q)
      distance += distanceOfRow(bytes, q * count + keys.prefix, rows, right.subarray(c * keys.columns, (c + 1) * keys.columns));
  }
  const asked = queries.prefix > 0 ? 1 : tokens(queries);
  let entropy = 0;
  for (let q = 0; q < asked; ++q) entropy += entropyOfRow(bytes, q * count, count);
  return { distance: distance / (queries.rows * queries.columns), entropy: entropy / asked };
}
