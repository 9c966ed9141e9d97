// A network that does not exist: deterministic attention, predictions and maps that look like those of a trained
// classifier. The page is tested against it; nothing here is a result.

const kClasses = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];
const grid = (rows, prefix) => ({ rows, columns: rows, prefix });
const layers = (count, heads, queries, keys = queries) =>
  Array.from({ length: count }, (_, i) => ({ name: `block ${i + 1}`, heads, queries, keys }));

/** A ViT with a class token, a CCT without one, and a hierarchical network whose keys are fewer. */
export const kNetworks = {
  vit_mock: { image: 224, family: "vit", parameters: 86567656, layers: layers(12, 12, grid(14, 1)) },
  cct_mock: { image: 32, family: "cct", parameters: 3760000, layers: layers(6, 4, grid(8, 0)) },
  pvt_mock: {
    image: 224,
    family: "pvt",
    parameters: 13234024,
    layers: [28, 14, 14, 7].map((rows, i) => ({
      name: `stage ${i + 1}`, heads: [1, 2, 5, 8][i], queries: grid(rows, 0), keys: grid(7, 0),
    })),
  },
};

export const models = () =>
  Object.entries(kNetworks).map(([name, n]) => ({
    name, kind: "classifier", family: n.family, task: "classify", image: n.image, resize: n.image, stretch: false, classes: kClasses.length,
    class_names: kClasses, parameters: n.parameters,
    explain: n.family === "cct" ? ["rollout", "grad-cam"] : ["rollout", "relevance", "grad-cam"],
  }));

/** A number in 0..1 that depends on its arguments alone. */
export function noise(...parts) {
  let h = 2166136261;
  for (const c of parts.join("|")) h = Math.imul(h ^ c.charCodeAt(0), 16777619);
  h = Math.imul(h ^ (h >>> 15), 2246822507);
  return ((h ^ (h >>> 13)) >>> 0) / 2 ** 32;
}

export function hash(bytes) {
  let h = 7;
  for (const b of bytes) h = (Math.imul(h, 31) + b) | 0;
  return h >>> 0;
}

/** The object in the middle of the image: 1 inside, 0 outside. */
function object(y, x) {
  return 1 / (1 + Math.exp(14 * (Math.hypot((y - 0.55) / 0.9, x - 0.5) - 0.3)));
}

const cell = (g, i) => ({
  y: (Math.floor((i - g.prefix) / g.columns) + 0.5) / g.rows,
  x: (((i - g.prefix) % g.columns) + 0.5) / g.columns,
});

/** The score of a query and a key: early heads look near, late ones at the object. */
function scorer(name, layer, l, head, depth) {
  const reach = 0.06 + 0.5 * noise(name, "reach", l, head) * (0.3 + l / depth);
  const pull = 3.2 * noise(name, "pull", l, head) * (l / depth);
  const shift = { y: 0.5 * (noise(name, "y", l, head) - 0.5), x: 0.5 * (noise(name, "x", l, head) - 0.5) };
  const sink = 0.6 + (2.2 * l) / depth * noise(name, "sink", l, head);
  const cells = (g) =>
    Array.from({ length: count(g) }, (_, i) => {
      const { y, x } = cell(g, i);
      return { y, x, inside: object(y, x) };
    });
  const queries = cells(layer.queries);
  const keys = cells(layer.keys).map((key, k) => ({ ...key, seen: pull * key.inside + 0.6 * noise(name, l, head, k) }));
  return (q, k) => {
    if (k < layer.keys.prefix) return sink;
    const key = keys[k];
    if (q < layer.queries.prefix)
      return 2 * key.seen - Math.hypot(key.y - 0.5 - shift.y, key.x - 0.5 - shift.x) / (0.2 + reach);
    const query = queries[q];
    const down = query.y - key.y + 0.2 * shift.y;
    const right = query.x - key.x + 0.2 * shift.x;
    return key.seen + 1 - Math.abs(query.inside - key.inside) - (down * down + right * right) / (2 * reach * reach);
  };
}

export const count = (g) => g.prefix + g.rows * g.columns;

const encodedByModel = new Map();

/** The body of /v1/attention. */
export function attention(name, bytes) {
  const network = kNetworks[name];
  if (!encodedByModel.has(name)) {
    const parts = [];
    let offset = 0;
    const described = network.layers.map((layer, l) => {
      const [Q, K] = [count(layer.queries), count(layer.keys)];
      const scale = [];
      for (let head = 0; head < layer.heads; ++head) {
        const score = scorer(name, layer, l, head, network.layers.length);
        const weights = new Float64Array(Q * K);
        let most = 0;
        for (let q = 0; q < Q; ++q) {
          let sum = 0;
          for (let k = 0; k < K; ++k) sum += weights[q * K + k] = Math.exp(score(q, k));
          for (let k = 0; k < K; ++k) most = Math.max(most, (weights[q * K + k] /= sum));
        }
        scale.push(most / 255);
        parts.push(Uint8Array.from(weights, (w) => Math.round((w / most) * 255)));
      }
      const begin = offset;
      offset += layer.heads * Q * K;
      return { ...layer, offset: begin, scale };
    });
    encodedByModel.set(name, { described, data: Buffer.concat(parts) });
  }
  const { described, data } = encodedByModel.get(name);
  const text = JSON.stringify({ model: name, predictions: classify(name, bytes, 5), layers: described });
  const header = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  return Buffer.concat([length, header, data]);
}

/** Softmax of logits that sharpen with `certainty` and lose their top with what is switched off. */
export function classify(name, bytes, top, { heads = [], layers = [], patches = [] } = {}, certainty = 1) {
  const seed = hash(bytes);
  const logits = kClasses.map((_, i) => 5.5 * certainty * noise(name, seed, i) ** 2);
  const best = logits.indexOf(Math.max(...logits));
  const lost = heads.reduce((s, [l, h]) => s + 0.35 * noise(name, "off", l, h), 0);
  logits[best] += certainty - lost - 0.9 * layers.length - 0.06 * patches.length;
  const sum = logits.reduce((s, x) => s + Math.exp(x), 0);
  return logits
    .map((x, index) => ({ label: kClasses[index], index, probability: Math.exp(x) / sum }))
    .sort((a, b) => b.probability - a.probability)
    .slice(0, top);
}

export function explain(name, bytes, method, target) {
  const { rows } = kNetworks[name].layers.at(-1).queries;
  const predictions = classify(name, bytes, 5);
  const index = target ?? predictions[0].index;
  const turn = method === "rollout" ? 0 : noise(method, index) - 0.5;
  const raw = Array.from({ length: rows * rows }, (_, i) => {
    const { y, x } = cell(grid(rows, 0), i);
    return object(y + 0.2 * turn, x - 0.2 * turn) * (0.5 + 0.5 * noise(method, index, i));
  });
  const most = Math.max(...raw);
  return {
    model: name, method, class: { label: kClasses[index], index },
    grid: [rows, rows], values: raw.map((v) => v / most), predictions,
  };
}

export const lens = (name, bytes) => ({
  layers: [{ name: "embedding" }, ...kNetworks[name].layers].map((layer, l, all) => ({
    name: layer.name,
    predictions: classify(l < all.length / 3 ? name + l : name, bytes, 5, {}, (l + 1) / all.length),
  })),
});
