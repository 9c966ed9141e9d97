// Lines of metrics.jsonl as series for charts.

import type { MetricLine, Run } from "./api";
import type { Key, Texts } from "./i18n";

export type Axis = "step" | "epoch" | "minutes";
const kNotMetrics = ["kind", "epoch", "step", "time"];

/** A metric is named "kind/key": "step/loss" is not the loss of an epoch. */
export function metricNames(lines: MetricLine[]): string[] {
  const names = new Set<string>();
  for (const line of lines)
    for (const [key, value] of Object.entries(line))
      if (!kNotMetrics.includes(key) && typeof value === "number") names.add(`${line.kind}/${key}`);
  return [...names];
}

/** The points of a metric, in the order of the axis. */
export function points(lines: MetricLine[], metric: string, axis: Axis): [number, number][] {
  const [kind, key] = metric.split("/", 2) as [string, string];
  const start = lines[0]?.time ?? 0;
  const place = (line: MetricLine) =>
    axis === "minutes" ? (line.time - start) / 60 : axis === "step" ? line.step : line.epoch;
  return lines
    .filter((line) => line.kind === kind && typeof line[key] === "number")
    .map((line): [number, number] => [place(line), line[key] as number])
    .sort((a, b) => a[0] - b[0]);
}

/** Columns for uPlot: all x of all series, and null where a series has no point. */
export function aligned(series: [number, number][][]): [number[], ...(number | null)[][]] {
  const x = [...new Set(series.flatMap((s) => s.map((p) => p[0])))].sort((a, b) => a - b);
  const at = new Map(x.map((value, i) => [value, i]));
  const columns = series.map((s) => {
    const column: (number | null)[] = new Array(x.length).fill(null);
    for (const [where, value] of s) column[at.get(where)!] = value;
    return column;
  });
  return [x, ...columns];
}

/** The selection metric of a run in its unit: "accuracy 93.50% validation, 93.04% test". A run that goes on does not
 * name its metric: the accuracy of its best epoch, or the loss. */
export function bestText(texts: Texts, best: Run["best"]): string {
  const { t, number, percent, named } = texts;
  const accuracy = "validation_accuracy" in best;
  const metric = best.metric || (accuracy ? "accuracy" : "loss");
  const unit = best.metric ? best.unit : accuracy ? "%" : "";
  const inUnit = (value: number) =>
    unit === "%" ? percent(value, 2) : `${number(value, 4)} ${unit ?? ""}`.trim();
  const of = (key: string, text: Key) => {
    const value = best[key];
    return typeof value === "number" ? [t(text, { value: inUnit(value) })] : [];
  };
  const values = [
    ...of(`validation_${metric}`, "runs.best_validation"),
    ...of(`test_${metric}`, "runs.best_test"),
  ];
  return values.length ? `${named("metric", String(metric))} ${values.join(", ")}` : "–";
}
