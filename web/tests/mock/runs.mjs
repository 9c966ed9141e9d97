// Synthetic run folders: two finished, one that goes on with every request, a probe that has no epochs, and one that is
// chosen by its loss.

const kStart = 1794900000;

const recipe = (name, lr, depth, epochs) => `name: ${name}
seed: 1
init: ""
model:
  name: vit_ti16
  image: 128
  patch: 16
  channels: 3
  classes: 10
  dim: 192
  depth: ${depth}
  heads: 3
  hidden: 768
  positions: learned
  pool: class
data:
  dataset:
    name: cifar10
  batch: 64
  validation: 0.02
train:
  epochs: ${epochs}
  optimizer:
    kind: adamw
    lr: ${lr}
    weight_decay: 0.05
  schedule:
    kind: one_cycle
  label_smoothing: 0.1
  clip: 1
`;

/** Training that approaches `floor` with a little noise. */
function lines(epochs, floor, speed, until = Infinity) {
  const out = [];
  const steps = 200;
  for (let epoch = 1; epoch <= epochs; ++epoch) {
    for (let step = (epoch - 1) * steps + 20; step <= epoch * steps; step += 20) {
      const wave = 0.04 * Math.sin(step * 1.7) + 0.03 * Math.sin(step * 0.31);
      const loss = floor + (2.3 - floor) * Math.exp((-step * speed) / 400) + wave;
      const learning_rate = 1e-3 * Math.sin((Math.PI * step) / (steps * epochs));
      out.push({ kind: "step", epoch, step, time: kStart + step / 4, loss, gradient_norm: 1 + 3 * Math.exp(-step / 300) + wave, learning_rate, seconds: step / 4, examples_per_second: 256 + 20 * wave });
    }
    const left = Math.exp((-epoch * speed) / 2);
    out.push({ kind: "epoch", epoch, step: epoch * steps, time: kStart + (epoch * steps) / 4, train_loss: floor + (2.3 - floor) * left, train_accuracy: 0.98 - 0.85 * left, validation_loss: floor + 0.05 + (2.2 - floor) * left, validation_accuracy: 0.955 - floor / 4 - 0.8 * left, seconds: (epoch * steps) / 4 });
  }
  return out.slice(0, until);
}

const result = (lines, extra = {}) => {
  const last = lines.at(-1);
  return {
    stop_reason: "finished", epochs: last.epoch, steps: last.step, seconds: last.seconds,
    selection_metric: "accuracy", unit: "%",
    validation: { loss: last.validation_loss, accuracy: last.validation_accuracy },
    test: { loss: last.validation_loss + 0.01, accuracy: last.validation_accuracy - 0.004 },
    parameters: 5507914, ...extra,
  };
};

export function makeRuns() {
  const base = lines(8, 0.35, 1);
  const slow = lines(8, 0.5, 0.6);
  let seen = 60;
  const growing = () => lines(8, 0.3, 1.2, (seen = Math.min(seen + 2, 88)));
  const folders = {
    "vit-baseline": { recipe: recipe("vit-baseline", 0.001, 12, 8), metrics: () => base, result: () => result(base), state: "finished", tested: true },
    "vit-low-lr": { recipe: recipe("vit-low-lr", 0.0003, 12, 8), metrics: () => slow, result: () => result(slow), state: "finished" },
    "vit-shallow": { recipe: recipe("vit-shallow", 0.001, 6, 8), metrics: growing, result: () => null, state: "running" },
    "probe-20261117-094745": { recipe: recipe("probe", 0.001, 12, 0), metrics: () => [], result: () => result(base, { epochs: 0 }), state: "finished" },
    "addition-transformer-20261117-101500": { recipe: recipe("addition", 0.001, 2, 8), metrics: () => slow, result: () => result(slow, { selection_metric: "loss", unit: "" }), state: "finished" },
  };
  const list = () =>
    Object.entries(folders).map(([name, f], i) => {
      const epochs = f.metrics().filter((l) => l.kind === "epoch");
      const end = f.result();
      const { epoch, validation_loss, validation_accuracy } = epochs.at(-1) ?? {};
      const best = end
        ? { metric: end.selection_metric, unit: end.unit, validation_loss: end.validation.loss, validation_accuracy: end.validation.accuracy, test_loss: end.test.loss, test_accuracy: end.test.accuracy }
        : { epoch, validation_loss, validation_accuracy };
      return {
        name, model: "vit_ti16", dataset: "cifar10", state: f.state, epochs: epochs.length, best,
        modified: Math.floor(Date.now() / 1000) - (f.state === "running" ? 20 : 7000 * (i + 1)),
      };
    });
  return { folders, list };
}
