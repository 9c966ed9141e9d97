// Synthetic sweeps: one of 54 runs over three settings, of which two failed and four are still to come, and one that has
// not begun.

const kGrid = {
  "model.embed": ["8", "32", "128"],
  "train.optimizer.lr": ["1e-4", "1e-3", "1e-2"],
  "train.schedule.kind": ["constant", "cosine"],
};

/** Every combination of the values. */
const points = Object.entries(kGrid).reduce(
  (all, [key, values]) => all.flatMap((point) => values.map((value) => ({ ...point, [key]: value }))),
  [{}],
);

function runOf(settings, seed, i) {
  const name = Object.entries({ ...settings, seed }).map(([key, value]) => `${key}=${value}`).join(",");
  const rate = Math.log10(Number(settings["train.optimizer.lr"]));
  const width = Math.log2(Number(settings["model.embed"]));
  if (rate === -2 && width === 5 && seed === 3) return { name, seed, state: "failed", settings, error: "loss is not finite after step 120; lower train.optimizer.lr" };
  const validation = 0.5 + 0.05 * width - 0.12 * (rate + 3) ** 2 + (settings["train.schedule.kind"] === "cosine" ? 0.03 : 0) + 0.012 * Math.sin(7.1 * i);
  return {
    name, seed, settings, state: i % 9 === 4 ? "over_budget" : "finished",
    validation, test: validation - 0.01 + 0.008 * Math.sin(3.3 * i), seconds: 4 * 2 ** width + 3 * (i % 4), epochs: 20, parameters: 1000 * 2 ** width,
  };
}

const metric = { name: "accuracy", unit: "%", higher_is_better: true, log_scale: false };
const runs = points.flatMap((settings, p) => [1, 2, 3].map((seed) => runOf(settings, seed, 3 * p + seed)));

export const sweeps = {
  widths: { name: "widths", recipe: "../addition-cnn.yaml", varied: Object.keys(kGrid), metric, planned: 54, runs: runs.slice(0, 50) },
  begun: { name: "begun", recipe: "../addition-cnn.yaml", varied: ["model.embed"], metric: null, planned: 3, runs: [] },
};

export const list = () =>
  Object.keys(sweeps).map((name, i) => ({ name, modified: Math.floor(Date.now() / 1000) - 60 - 600 * i }));
