import { describe, expect, it } from "vitest";
import type { Sweep, SweepRun } from "../../src/api";
import { axesOf, bestFirst, goodness, isKept, nextPlace, rangesOf, rangesText } from "../../src/sweep";
import { tableOf } from "../../src/views/runs/confusion";

const texts = { validation: "validation", test: "test", seconds: "seconds", metric: (v: number) => `${v}`, duration: (v: number) => `${v} s` };

const run = (settings: SweepRun["settings"], validation?: number, seconds = 10): SweepRun =>
  validation === undefined
    ? { name: JSON.stringify(settings), seed: 1, state: "failed", settings, error: "no memory" }
    : { name: JSON.stringify(settings) + validation, seed: 1, state: "finished", settings, validation, test: validation / 2, seconds };

function sweepOf(runs: SweepRun[], metric: Partial<Sweep["metric"]> = {}): Sweep {
  const varied = Object.keys(runs[0]!.settings);
  return { name: "s", recipe: "r", varied, planned: 9, runs, metric: { name: "accuracy", unit: "%", higher_is_better: true, log_scale: false, ...metric } };
}

describe("the axes of a sweep", () => {
  it("are its settings, then the metric on both splits, and the time", () => {
    const axes = axesOf(sweepOf([run({ "model.embed": "8", lr: "1" }, 0.5)]), texts);
    expect(axes.map((a) => a.name)).toEqual(["model.embed", "lr", "validation", "test", "seconds"]);
    expect(axes.map((a) => a.result)).toEqual([false, false, true, true, true]);
  });
  it("are logarithmic where settings span more than a decade", () => {
    const [rate, width] = axesOf(sweepOf([run({ lr: "1e-4", w: "8" }, 0.1), run({ lr: "1e-3", w: "16" }, 0.2), run({ lr: "1e-2", w: "64" }, 0.9)]), texts);
    expect([rate!.log, width!.log]).toEqual([true, false]);
    expect(rate!.place(run({ lr: "1e-3", w: "8" }, 0))).toBeCloseTo(0.5);
    expect(width!.place(run({ lr: "1e-3", w: "36" }, 0))).toBeCloseTo(0.5);
    expect(rate!.ticks.map((t) => t.text)).toEqual(["1e-4", "1e-3", "1e-2"]);
    expect([rate!.textAt(0.5), rate!.textAt(0.75), width!.textAt(1)]).toEqual(["1e-3", "0.00316", "64"]);
  });
  it("never take the logarithm of 0, nor of a metric that does not ask for it", () => {
    const runs = [run({ decay: "0" }, 0.01, 1), run({ decay: "0.1" }, 0.9, 1000)];
    expect(axesOf(sweepOf(runs), texts).map((a) => a.log)).toEqual([false, false, false, true]);
    expect(axesOf(sweepOf(runs, { log_scale: true }), texts)[1]!.log).toBe(true);
  });
  it("hold words in the order of the runs", () => {
    const [kind] = axesOf(sweepOf([run({ kind: "sgd" }, 0.1), run({ kind: "adamw" }, 0.2), run({ kind: "muon" }, 0.3)]), texts);
    expect(kind!.ticks).toEqual([{ place: 0, text: "sgd" }, { place: 0.5, text: "adamw" }, { place: 1, text: "muon" }]);
    expect(kind!.textAt(0.6)).toBe("adamw");
  });
  it("are crossed in the middle where all runs agree, and nowhere without a value", () => {
    const runs = [run({ a: "3", b: null }, 0.5), run({ a: "3", b: "x" })];
    const axes = axesOf(sweepOf(runs), texts);
    expect(axes.map((a) => a.place(runs[0]!))).toEqual([0.5, undefined, 0.5, 0.5, 0.5]);
    expect(axes.map((a) => a.place(runs[1]!))).toEqual([0.5, 0.5, undefined, undefined, undefined]);
    expect(axes.map((a) => a.textOf(runs[1]!))).toEqual(["3", "x", "", "", ""]);
    expect(axes[0]!.textAt(0.5)).toBe("3");
  });
  it("have no ticks that cover each other", () => {
    const values = ["0", "0.1", "0.9", "0.91", "1"];
    const [axis] = axesOf(sweepOf(values.map((v) => run({ v }, 0.5))), texts);
    expect(axis!.ticks.map((t) => t.text)).toEqual(["0", "0.1", "0.9", "1"]);
  });
});

describe("the runs of a sweep", () => {
  const runs = [run({ w: "1" }, 0.4), run({ w: "2" }), run({ w: "3" }, 0.9), run({ w: "5" }, 0.6)];
  const sweep = sweepOf(runs);
  const axes = axesOf(sweep, texts);
  it("are kept where they cross every range", () => {
    expect(runs.map((r) => isKept(axes, new Map(), r))).toEqual([true, true, true, true]);
    expect(runs.map((r) => isKept(axes, new Map([[0, [0, 0.5]]]), r))).toEqual([true, true, true, false]);
    // One that failed has no metric that could lie in a range.
    expect(runs.map((r) => isKept(axes, new Map([[0, [0, 0.5]], [1, [0, 1]]]), r))).toEqual([true, false, true, false]);
  });
  it("are best first by the metric, and failed ones last", () => {
    expect(bestFirst(sweep).map((r) => r.settings.w)).toEqual(["3", "5", "1", "2"]);
    expect(bestFirst(sweepOf(runs, { higher_is_better: false })).map((r) => r.settings.w)).toEqual(["1", "5", "3", "2"]);
  });
  it("have a colour by the metric on the validation set", () => {
    expect(runs.map((r) => goodness(sweep, axes, r))).toEqual([0, undefined, 1, expect.closeTo(0.4)]);
    const loss = sweepOf(runs, { higher_is_better: false });
    expect(goodness(loss, axes, runs[0]!)).toBe(1);
  });
  it("are where the handles of an axis stop", () => {
    const [width] = axes;
    expect(nextPlace(width!, runs, 0, true)).toBe(0.25);
    expect(nextPlace(width!, runs, 0.5, true)).toBe(1);
    expect(nextPlace(width!, runs, 1, true)).toBe(1);
    expect(nextPlace(width!, runs, 0.5, false)).toBe(0.25);
    expect(nextPlace(width!, runs, 0, false)).toBe(0);
  });
});

it("ranges go through the address", () => {
  const ranges = new Map<number, [number, number]>([[0, [0.25, 1]], [3, [0, 0.4]]]);
  expect(rangesText(ranges)).toBe("0.250.1000,3.0.400");
  expect(rangesOf([[0, 250, 1000], [3, 0, 400]])).toEqual(ranges);
  expect(rangesOf([[1], [2, 900, 100], [4, 0, 1001]])).toEqual(new Map());
});

it("a confusion matrix has fractions of the true class", () => {
  const { n, counts, totals, fraction, confused } = tableOf({ classes: ["a", "b", "c"], examples: 7, cells: [[0, 0, 3], [0, 1, 1], [1, 0, 2], [1, 1, 1]] });
  expect([n, counts, totals]).toEqual([3, [3, 1, 0, 2, 1, 0, 0, 0, 0], [4, 3, 0]]);
  expect([fraction([0, 1]), fraction([2, 2])]).toEqual([0.25, 0]);
  expect(confused).toEqual([[1, 0], [0, 1]]);
});
