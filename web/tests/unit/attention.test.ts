import { describe, expect, it } from "vitest";
import { attentionMap, decodeAttention, headNumbers, kMeanHead, tokenAt, uniformDistance, weightsFrom, weightsTo, type Attention, type Layer } from "../../src/attention";

/** The bytes of an answer: header, then data. */
function encoded(header: object, data: number[]): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const out = new Uint8Array(4 + text.length + data.length);
  new DataView(out.buffer).setUint32(0, text.length, true);
  out.set(text, 4);
  out.set(data, 4 + text.length);
  return out.buffer;
}

const withClass = { rows: 1, columns: 2, prefix: 1 };
// Two heads of 3 x 3 weights.
const kBytes = [10, 20, 70, 50, 50, 0, 0, 0, 100, 100, 0, 0, 0, 100, 0, 25, 25, 50];
const layer = { name: "block 1", heads: 2, queries: withClass, keys: withClass, offset: 0, scale: [0.01, 0.01] };
const answer = (): Attention => decodeAttention(encoded({ model: "m", predictions: [], layers: [layer] }, kBytes));
const close = (values: Iterable<number>) => [...values].map((v) => Number(v.toFixed(5)));

describe("attention", () => {
  it("is decoded from header and bytes, whatever the length of the header", () => {
    for (const model of ["m", "mo", "mod", "mode"]) {
      const a = decodeAttention(encoded({ model, predictions: [], layers: [layer] }, kBytes));
      expect(a.model).toBe(model);
      expect([...a.data]).toEqual(kBytes);
    }
  });
  it("refuses an answer that is cut off", () => {
    expect(() => decodeAttention(new ArrayBuffer(2))).toThrow("no header");
    expect(() => decodeAttention(encoded({ layers: [layer] }, kBytes.slice(1)))).toThrow("block 1 ends at byte 18 of 17");
    expect(() => decodeAttention(encoded({ layers: [] }, []).slice(0, 8))).toThrow("header of 13 bytes in 8");
  });
  it("has a row for where a token looks and a column for who looks at it", () => {
    const a = answer();
    expect(close(weightsFrom(a, layer, 0, null))).toEqual([0.1, 0.2, 0.7]);
    expect(close(weightsFrom(a, layer, 0, { y: 0.5, x: 0.2 }))).toEqual([0.5, 0.5, 0]);
    expect(close(weightsTo(a, layer, 0, null))).toEqual([0.1, 0.5, 0]);
    expect(close(weightsTo(a, layer, 0, { y: 0.5, x: 0.9 }))).toEqual([0.7, 0, 1]);
  });
  it("averages the heads", () => {
    expect(close(weightsFrom(answer(), layer, kMeanHead, null))).toEqual([0.55, 0.1, 0.35]);
    expect(close(weightsTo(answer(), layer, kMeanHead, { y: 0, x: 0.9 }))).toEqual([0.35, 0, 0.75]);
  });
  it("makes a map without the class token, whose weight stands apart", () => {
    const map = attentionMap(answer(), layer, 0, null, "from");
    expect([map.rows, map.columns, close(map.values), close(map.prefix)]).toEqual([1, 2, [0.2, 0.7], [0.1]]);
  });
  it("averages over the queries where there is no class token", () => {
    const plain = { rows: 1, columns: 2, prefix: 0 };
    const l: Layer = { ...layer, heads: 1, queries: plain, keys: plain, scale: [0.01] };
    const a = { ...answer(), layers: [l], data: new Uint8Array([100, 0, 50, 50]) };
    expect(close(weightsFrom(a, l, 0, null))).toEqual([0.75, 0.25]);
    // "Who looks at it" needs a token; without one the map is where all look.
    expect(close(attentionMap(a, l, 0, null, "to").values)).toEqual([0.75, 0.25]);
  });
  it("finds the token of a point on any grid, the edges included", () => {
    const grid = { rows: 14, columns: 14, prefix: 1 };
    expect(tokenAt(grid, { y: 0, x: 0 })).toBe(1);
    expect(tokenAt(grid, { y: 1, x: 1 })).toBe(196);
    expect(tokenAt(grid, { y: 0.5, x: 0.49 })).toBe(1 + 7 * 14 + 6);
    expect(tokenAt({ rows: 7, columns: 7, prefix: 0 }, { y: 0.5, x: 0.49 })).toBe(3 * 7 + 3);
  });
});

describe("numbers of a head", () => {
  it("are distance in pixels between patches and entropy of the class token", () => {
    // Head 1: the first patch looks at itself, the second with 1/3 to the first; cells are 4 pixels apart.
    const [, second] = headNumbers(answer(), layer, 8);
    expect(second!.distance).toBeCloseTo((0 + (25 / 75) * 4) / 2, 5);
    expect(second!.entropy).toBe(0);
    const [first] = headNumbers(answer(), layer, 8);
    const h = -(0.1 * Math.log(0.1) + 0.2 * Math.log(0.2) + 0.7 * Math.log(0.7)) / Math.log(3);
    expect(first!.entropy).toBeCloseTo(h, 6);
  });
  it("equal those of uniform attention for uniform weights, also between unequal grids", () => {
    const queries = { rows: 4, columns: 4, prefix: 0 };
    const keys = { rows: 2, columns: 2, prefix: 0 };
    const l: Layer = { ...layer, heads: 1, queries, keys, scale: [1] };
    const a = { ...answer(), layers: [l], data: new Uint8Array(64).fill(7) };
    expect(headNumbers(a, l, 32)[0]!.distance).toBeCloseTo(uniformDistance(l, 32), 4);
    expect(headNumbers(a, l, 32)[0]!.entropy).toBeCloseTo(1, 6);
  });
});
