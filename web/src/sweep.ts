// The runs of a sweep as lines across parallel axes.

import { scaleLinear, scaleLog, scalePoint } from "d3-scale";
import type { Sweep, SweepRun } from "./api";

/** An axis: a varied setting, or a result. */
export interface Axis {
  name: string;
  result: boolean;
  log: boolean;
  /** Where a run crosses the axis, from 0 (bottom) to 1 (top); undefined where it has no value. */
  place: (run: SweepRun) => number | undefined;
  ticks: { place: number; text: string }[];
  /** What a run has there, for people; empty where it has no value. */
  textOf: (run: SweepRun) => string;
  /** The value at a place of the axis. */
  textAt: (place: number) => string;
}

/** From which place to which runs are kept. */
export type Range = [number, number];
/** By the number of the axis. */
export type Ranges = ReadonlyMap<number, Range>;

/** Values that span more than this are shown on a logarithmic axis. */
const kDecade = 10;
/** So many different values are all named on their axis; of more, round ones are. */
const kNamedValues = 10;
/** Ticks nearer than this would cover each other. */
const kTickGap = 0.055;
/** Places in the address are rounded to thousandths. */
const kSlack = 1e-3;

/** The numbers that all texts are, or undefined. */
function numbersOf(texts: string[]): number[] | undefined {
  const numbers = texts.map((text) => (text.trim() === "" ? NaN : Number(text)));
  return numbers.every(Number.isFinite) ? numbers : undefined;
}

/** The ticks from the bottom up, without those that would cover the one before. */
function spaced(ticks: Axis["ticks"]): Axis["ticks"] {
  let last = -Infinity;
  return ticks
    .sort((a, b) => a.place - b.place)
    .filter(({ place }) => {
      const free = place - last >= kTickGap;
      if (free) last = place;
      return free;
    });
}

function numberAxis(
  name: string,
  result: boolean,
  value: (run: SweepRun) => number | undefined,
  runs: SweepRun[],
  text: (value: number) => string,
  spansDecades: (low: number, high: number) => boolean,
): Axis {
  const values = [...new Set(runs.map(value).filter((v) => v !== undefined))].sort((a, b) => a - b);
  const [low = 0, high = 0] = [values[0], values.at(-1)];
  const log = low > 0 && spansDecades(low, high);
  const range = low < high ? [0, 1] : [0.5, 0.5];
  const scale = log ? scaleLog([low, high], range) : scaleLinear([low, high], range);
  const round = (v: number) => !log || /^[125]/.test(v.toExponential());
  const named = values.length <= kNamedValues ? values : scale.ticks(6).filter(round);
  return {
    name,
    result,
    log,
    place: (run) => {
      const v = value(run);
      return v === undefined ? undefined : scale(v);
    },
    ticks: spaced(named.filter((v) => v >= low && v <= high).map((v) => ({ place: scale(v), text: text(v) }))),
    textOf: (run) => {
      const v = value(run);
      return v === undefined ? "" : text(v);
    },
    textAt: (place) => text(values.find((v) => Math.abs(scale(v) - place) < kSlack) ?? scale.invert(place)),
  };
}

function wordAxis(key: string, runs: SweepRun[]): Axis {
  const words = [...new Set(runs.map((run) => run.settings[key]).filter((w) => w != null))];
  const scale = scalePoint(words, [0, 1]);
  const ticks = words.map((text) => ({ place: scale(text)!, text }));
  return {
    name: key,
    result: false,
    log: false,
    place: (run) => scale(run.settings[key] ?? ""),
    ticks,
    textOf: (run) => run.settings[key] ?? "",
    textAt: (place) =>
      ticks.reduce((best, tick) => (Math.abs(tick.place - place) < Math.abs(best.place - place) ? tick : best), ticks[0]!).text,
  };
}

function settingAxis(key: string, runs: SweepRun[]): Axis {
  const texts = runs.map((run) => run.settings[key]).filter((text) => text != null);
  if (texts.length === 0 || !numbersOf(texts)) return wordAxis(key, runs);
  // A value stands there as it was written in the sweep file.
  const written = new Map(texts.map((text) => [Number(text), text]));
  const value = (run: SweepRun) => {
    const text = run.settings[key];
    return text == null ? undefined : Number(text);
  };
  const text = (v: number) => written.get(v) ?? String(Number(v.toPrecision(3)));
  return numberAxis(key, false, value, runs, text, (low, high) => high / low > kDecade);
}

/** How results are called and written. */
export interface ResultTexts {
  validation: string;
  test: string;
  seconds: string;
  metric: (value: number) => string;
  duration: (value: number) => string;
}

/** An axis for each varied setting, then the results. */
export function axesOf(sweep: Sweep, texts: ResultTexts): Axis[] {
  const { runs, metric } = sweep;
  const settings = sweep.varied.map((key) => settingAxis(key, runs));
  if (!metric) return settings;
  const ofMetric = (name: string, split: "validation" | "test") =>
    numberAxis(name, true, (run) => run[split] ?? undefined, runs, texts.metric, () => metric.log_scale);
  return [
    ...settings,
    ofMetric(texts.validation, "validation"),
    ofMetric(texts.test, "test"),
    numberAxis(texts.seconds, true, (run) => run.seconds, runs, texts.duration, (low, high) => high / low > kDecade),
  ];
}

/** Whether the run crosses every axis within its range. */
export function isKept(axes: Axis[], ranges: Ranges, run: SweepRun): boolean {
  return [...ranges].every(([i, [low, high]]) => {
    const place = axes[i]?.place(run);
    return place !== undefined && place >= low - kSlack && place <= high + kSlack;
  });
}

/** How good a run is among all, from 0 to 1, by its place on the axis of the validation metric. */
export function goodness(sweep: Sweep, axes: Axis[], run: SweepRun): number | undefined {
  const place = axes[sweep.varied.length]?.place(run);
  return place === undefined ? undefined : sweep.metric!.higher_is_better ? place : 1 - place;
}

/** The runs from the best to the worst; those that failed come last. */
export function bestFirst(sweep: Sweep): SweepRun[] {
  const sign = sweep.metric?.higher_is_better ? -1 : 1;
  const cost = (run: SweepRun) => (run.validation == null ? Infinity : sign * run.validation);
  return [...sweep.runs].sort((a, b) => (cost(a) === cost(b) ? 0 : cost(a) - cost(b)));
}

/** The next place at which a run crosses the axis, or its end. */
export function nextPlace(axis: Axis, runs: SweepRun[], from: number, up: boolean): number {
  const places = runs.map(axis.place).filter((p) => p !== undefined);
  return up
    ? Math.min(1, ...places.filter((p) => p > from + kSlack))
    : Math.max(0, ...places.filter((p) => p < from - kSlack));
}

/** "0.250.1000,3.0.400": the axis, and the range in thousandths. */
export function rangesText(ranges: Ranges): string {
  const thousandths = (place: number) => Math.round(1000 * place);
  return [...ranges].map(([i, [low, high]]) => `${i}.${thousandths(low)}.${thousandths(high)}`).join(",");
}

/** The ranges in groups of whole numbers; what is none is left out. */
export function rangesOf(groups: number[][]): Map<number, Range> {
  const ranges = new Map<number, Range>();
  for (const [axis, low, high] of groups)
    if (axis !== undefined && low !== undefined && high !== undefined && low <= high && high <= 1000)
      ranges.set(axis, [low / 1000, high / 1000]);
  return ranges;
}
