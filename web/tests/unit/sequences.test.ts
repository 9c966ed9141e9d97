import { describe, expect, it } from "vitest";
import { addersOf, classifiersOf, generatorsOf, type Served } from "../../src/api";
import { attended } from "../../src/dot_product";
import { serverEvents } from "../../src/events";
import { Generation } from "../../src/generation";
import { kTextsByLanguage } from "../../src/i18n";
import { columnsOf, explained, looksAcross, tensAtUnits } from "../../src/views/sequences/adding";
import { meanOf } from "../../src/views/sequences/attention_view";
import { wordOf, wordText } from "../../src/views/sequences/head_lines";
import { extended } from "../../src/views/sequences/sentence";

/** The events of a text that arrives in pieces of `size` bytes. */
async function events(text: string, size: number) {
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.subarray(i, i + size));
      controller.close();
    },
  });
  const out = [];
  for await (const event of serverEvents(body)) out.push(event);
  return out;
}

describe("server-sent events", () => {
  const text = ': hello\n\nevent: start\ndata: {"a": 1}\n\nevent:tokens\r\ndata: "다음"\r\ndata:second\r\n\r\ndata: x\n\nevent: cut\ndata: y\n';
  it.each([1, 2, 3, 7, 1000])("are whole whatever the network cuts: %d bytes at a time", async (size) => {
    expect(await events(text, size)).toEqual([
      { event: "start", data: '{"a": 1}' },
      { event: "tokens", data: '"다음"\nsecond' },
      { event: "message", data: "x" },
    ]);
  });
  it("are read no further than they are asked for", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
      cancel: () => void (cancelled = true),
    });
    for await (const event of serverEvents(body)) {
      expect(event.data).toBe("1");
      break;
    }
    expect(cancelled).toBe(true);
  });
});

describe("a generation", () => {
  const start = { model: "m", unit: "bytes" as const, count: 2, total: 12, kept: 3, image: { width: 2, height: 2, channels: 3 } };
  it("fills the pixels of every image", () => {
    const g = new Generation(start);
    g.add({ at: [0, 1, 2], values: [[10, 20, 30], [40, 50, 60]] });
    g.add({ at: [9], values: [[7], [8]] });
    expect(g.done).toBe(4);
    expect([...g.images[0]!]).toEqual([10, 20, 30, 255, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 255]);
    expect([...g.images[1]!.subarray(0, 4)]).toEqual([40, 50, 60, 255]);
  });
  it("counts pixels as tokens where they are", () => {
    const g = new Generation({ ...start, unit: "pixels", total: 4 });
    g.add({ at: [3, 4, 5], values: [[1, 2, 3], [1, 2, 3]] });
    expect(g.done).toBe(1);
  });
  it("is grey with one channel", () => {
    const g = new Generation({ ...start, image: { width: 2, height: 1, channels: 1 }, total: 2 });
    g.add({ at: [1], values: [[9], [200]] });
    expect([...g.images[1]!]).toEqual([0, 0, 0, 0, 200, 200, 200, 255]);
  });
  it("lets texts grow", () => {
    const bytes = new Generation({ ...start, image: null });
    bytes.add({ texts: ["가", "a"] });
    bytes.add({ texts: ["", "b"] });
    expect([bytes.texts, bytes.done]).toEqual([["가", "ab"], 3]);
    bytes.add({ texts: ["\ufffd", ""] });
    expect(bytes.done).toBe(4);
    const words = new Generation({ ...start, image: null, unit: "words" });
    words.add({ texts: ["The cat sat.", "The"] });
    expect(words.done).toBe(4);
  });
});

it("models are told apart by their kind; without one they classify", () => {
  const all = [{ name: "a" }, { name: "b", kind: "generator" }, { name: "c", kind: "adder" }, { name: "d", kind: "classifier" }] as Served[];
  expect([classifiersOf(all), generatorsOf(all), addersOf(all)].map((models) => models.map((m) => m.name))).toEqual([["a", "d"], ["b"], ["c"]]);
});

describe("a sum by hand", () => {
  it("carries where a column makes ten", () => {
    expect(columnsOf(57, 68)).toEqual({ units: { a: 7, b: 8, carried: 0, sum: 15 }, tens: { a: 5, b: 6, carried: 1, sum: 12 } });
    expect(columnsOf(4, 5).tens).toEqual({ a: 0, b: 0, carried: 0, sum: 0 });
  });
  it("is explained in both languages", () => {
    expect(explained(kTextsByLanguage.en, 57, 68)).toEqual([
      "Units: 7 + 8 = 15, so 5 is written and 1 is carried.",
      "Tens: 5 + 6 + 1 carried = 12, so 2 is written and 1 is carried.",
    ]);
    expect(explained(kTextsByLanguage.en, 12, 30)[1]).toBe("Tens: 1 + 3 = 4, no carry.");
    expect(explained(kTextsByLanguage.ko, 57, 68)[0]).toBe("일의 자리: 7 + 8 = 15, 이 자리에는 5만 쓰고 1을 받아올립니다.");
  });
});

it("digits look at the units", () => {
  const weights = [[0.1, 0.2, 0.3, 0.4], [0, 0, 0.4, 0.6], [0.5, 0.5, 0, 0], [0, 0.2, 0, 0.8]];
  expect(looksAcross(weights)).toBeCloseTo(0.4, 12);
  expect(tensAtUnits(weights)).toBeCloseTo((0.6 + 0.5) / 2, 12);
});

it("the mean of heads is one matrix", () => {
  expect(meanOf([[[1, 0], [0.5, 0.5]], [[0, 1], [0.5, 0.5]]])).toEqual([[0.5, 0.5], [0.5, 0.5]]);
});

it("a word of the address is a query or a key", () => {
  expect([wordOf("q3"), wordOf("k12"), wordOf("x1"), wordOf(null)]).toEqual([{ side: "query", index: 3 }, { side: "key", index: 12 }, undefined, undefined]);
  expect([wordText({ side: "key", index: 4 }), wordText(undefined)]).toEqual(["k4", null]);
});

it("a sentence grows by words and signs", () => {
  expect([extended("The cat ", "sat"), extended("The cat", "."), extended("", "the")]).toEqual(["The cat sat", "The cat.", "the"]);
});

describe("scaled dot-product attention", () => {
  const vectors = { q: [2, 0], k: [[3, 1], [0, 5]], v: [[1, 0], [0, 1]], scores: [3, 0.5], weights: [], scale: 0.5 };
  it("is that of the scores, which may hold more than the product", () => {
    const { products, scores, weights, output } = attended(vectors, true);
    expect([products, scores]).toEqual([[6, 0], [3, 0.5]]);
    expect(weights[0]).toBeCloseTo(1 / (1 + Math.exp(-2.5)), 12);
    expect(output).toEqual(weights);
  });
  it("is sharper without the scale", () => {
    const { scores, weights } = attended(vectors, false);
    expect(scores).toEqual([6, 0.5]);
    expect(weights[0]).toBeCloseTo(1 / (1 + Math.exp(-5.5)), 12);
  });
});
