import { describe, expect, it } from "vitest";
import type { MetricLine } from "../../src/api";
import type { Attention } from "../../src/attention";
import { seenBox } from "../../src/draw";
import { kTextsByLanguage } from "../../src/i18n";
import { aligned, bestText, metricNames, points } from "../../src/metrics";
import { lensLabel } from "../../src/parts/lens_table";
import { parseRoute, routeHash } from "../../src/route";
import { anyOff, exploreState, headOff, offWithin, pointText, toggleHead, toggleLayer, togglePatch } from "../../src/views/explore/state";
import { leaves } from "../../src/views/runs/results";
import { shortList } from "../../src/views/sequences/patterns";

const state = (text: string) => exploreState(new URLSearchParams(text));

describe("the address", () => {
  it("names a view and its state", () => {
    const { view, query } = parseRoute("#/runs?runs=a,b&x=epoch");
    expect([view, query.get("runs"), query.get("x")]).toEqual(["runs", "a,b", "epoch"]);
    expect(routeHash(view, query)).toBe("#/runs?runs=a,b&x=epoch");
    expect(parseRoute("").view).toBe("explore");
    expect(parseRoute("#/nonsense?x").view).toBe("explore");
  });
  it("holds layer, head, patch and what is off", () => {
    const s = state("layer=3&head=5&at=250,750&look=to&heads=0.1,2.11&layers=4&patches=7,9&class=2");
    expect(s).toMatchObject({ layer: 3, head: 5, at: { y: 0.25, x: 0.75 }, direction: "to", target: 2 });
    expect(s.off).toEqual({ heads: [[0, 1], [2, 11]], layers: [4], patches: [7, 9], grid: undefined });
  });
  it("falls back where it makes no sense", () => {
    const s = state("layer=-1&head=x&at=9999,1&look=up&heads=a.b,3&opacity=900");
    expect(s).toMatchObject({ layer: undefined, head: -1, at: null, direction: "from", opacity: 70 });
    expect(s.off.heads).toEqual([]);
  });
  it("gives a patch back where it was", () => {
    for (let i = 0; i < 14; ++i) {
      const at = { y: (i + 0.5) / 14, x: (13.5 - i) / 14 };
      const back = state(`at=${pointText(at)}`).at!;
      expect([Math.floor(back.y * 14), Math.floor(back.x * 14)]).toEqual([i, 13 - i]);
    }
  });
  it("switches off only what a network has", () => {
    const { off } = state("heads=0.1,0.2,5.0&layers=1,2&patches=3,4");
    const grid = { rows: 2, columns: 2, prefix: 1 };
    const layer = { name: "", heads: 2, queries: grid, keys: grid, offset: 0, scale: [1, 1] };
    const attention = { model: "", predictions: [], layers: [layer, layer] } as unknown as Attention;
    expect(offWithin(attention, off, 32)).toEqual({ heads: [[0, 1]], layers: [1], patches: [3], grid: [2, 2] });
    expect(anyOff(offWithin(undefined, off, 32))).toBe(false);
  });
  it("masks the same part of the image in networks with different grids", () => {
    const grid = { rows: 2, columns: 2, prefix: 0 };
    const attention = { model: "", predictions: [], layers: [{ name: "", heads: 1, queries: grid, keys: grid, offset: 0, scale: [1] }] } as unknown as Attention;
    const { off } = state("patches=0,5,15,16&grid=4.4");
    expect(off.grid).toEqual([4, 4]);
    expect(offWithin(attention, off, 32)).toMatchObject({ patches: [0, 5, 15], grid: [4, 4] });
    expect(offWithin(undefined, off, 32)).toMatchObject({ patches: [0, 5, 15], grid: [4, 4] });  // a network without attention too
    expect(offWithin(attention, off, 3)).toMatchObject({ patches: [0, 3], grid: [2, 2] });  // finer than its pixels
    expect(state("patches=1&grid=0.4").off.grid).toBeUndefined();
  });
  it("switches parts off and on again", () => {
    const { off } = state("heads=0.1&layers=4&patches=7");
    expect(toggleHead(off, 2, 3)).toEqual({ heads: "0.1,2.3" });
    expect(toggleHead(off, 0, 1)).toEqual({ heads: "" });
    expect(toggleLayer(off, 1)).toEqual({ layers: "1,4" });
    const own = { rows: 4, columns: 4 };
    expect(togglePatch(off, { y: 0.3, x: 0.9 }, own)).toEqual({ patches: "", grid: null });
    expect(togglePatch(off, { y: 0, x: 0 }, own)).toEqual({ patches: "0,7", grid: "4.4" });
    expect(togglePatch({ ...off, grid: [2, 8] }, { y: 0.9, x: 0.2 }, own)).toEqual({ patches: "7,9", grid: "2.8" });
    expect(togglePatch({ ...off, patches: [], grid: [2, 8] }, { y: 0.9, x: 0.2 }, own)).toEqual({ patches: "12", grid: "4.4" });
    expect([headOff(off, 0, 1), headOff(off, 4, 9), headOff(off, 1, 1)]).toEqual([true, true, false]);
  });
});

describe("the image that the model is shown", () => {
  it("is the centre after resizing the short side, or all of it", () => {
    expect(seenBox(400, 200, 224)).toEqual({ x: 100, y: 0, width: 200, height: 200 });
    expect(seenBox(256, 512, 224, 256)).toEqual({ x: 16, y: 144, width: 224, height: 224 });
    expect(seenBox(400, 200, 224, 224, true)).toEqual({ x: 0, y: 0, width: 400, height: 200 });
  });
});

describe("metrics", () => {
  const lines: MetricLine[] = [
    { kind: "step", epoch: 1, step: 20, time: 100, loss: 2 },
    { kind: "step", epoch: 1, step: 40, time: 160, loss: 1 },
    { kind: "epoch", epoch: 1, step: 40, time: 160, validation_accuracy: 0.5, note: "x" },
  ];
  it("are named by the kind of line, numbers only", () => {
    expect(metricNames(lines)).toEqual(["step/loss", "epoch/validation_accuracy"]);
  });
  it("are points over steps or minutes", () => {
    expect(points(lines, "step/loss", "step")).toEqual([[20, 2], [40, 1]]);
    expect(points(lines, "step/loss", "minutes")).toEqual([[0, 2], [1, 1]]);
    expect(points(lines, "epoch/validation_accuracy", "epoch")).toEqual([[1, 0.5]]);
  });
  it("of several runs share one axis", () => {
    expect(aligned([[[1, 5], [3, 6]], [[2, 7], [3, 8]]])).toEqual([[1, 2, 3], [5, null, 6], [null, 7, 8]]);
  });
});

describe("the best of a run", () => {
  const { en, ko } = kTextsByLanguage;
  it("is its selection metric in its unit", () => {
    const best = { metric: "accuracy", unit: "%", validation_loss: 0.2, validation_accuracy: 0.935, test_loss: 0.2, test_accuracy: 0.9304 };
    expect(bestText(en, best)).toBe("accuracy 93.50% validation, 93.04% test");
    expect(bestText(ko, best)).toBe("정확도 검증 93.50%, 테스트 93.04%");
    expect(bestText(en, { ...best, metric: "loss", unit: "" })).toBe("loss 0.2 validation, 0.2 test");
    expect(bestText(en, { metric: "bits_per_dim", unit: "bits", test_bits_per_dim: 3.08 })).toBe("bits_per_dim 3.08 bits test");
  });
  it("is that of the best epoch while it goes on", () => {
    expect(bestText(en, { epoch: 2, validation_loss: 0.5, validation_accuracy: 0.8 })).toBe("accuracy 80.00% validation");
    expect(bestText(en, { epoch: 2, validation_loss: 0.52345 })).toBe("loss 0.5235 validation");
    expect(bestText(en, {})).toBe("–");
  });
});

it("the rows of the lens are the embedding and the numbers of blocks", () => {
  const { en, ko } = kTextsByLanguage;
  expect(["embedding", "block 12", "stage 2"].map((name) => lensLabel(en, name))).toEqual(["embedding", "12", "stage 2"]);
  expect(lensLabel(ko, "embedding")).toBe("임베딩");
});

it("a result is a table of its leaves", () => {
  expect(leaves({ a: 1, test: { loss: 2, list: [1] } })).toEqual([["a", 1], ["test.loss", 2]]);
});

it("a list of keys is short", () => {
  expect(shortList([0, 1, 2, 5, 8, 9])).toBe("0–2, 5, 8–9");
  expect(shortList(Array.from({ length: 20 }, (_, i) => 2 * i))).toBe("0, 2, 4, 6, 8, 10, 12, …, 38");
});
