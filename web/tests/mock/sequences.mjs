// Models of sequences that do not exist: words, sums, and images and texts that are generated. As network.mjs, nothing
// here is a result.

import { hash, noise } from "./network.mjs";

const kWords =
  "the cat dog boy girl sat slept on mat chair roof bed because it was tired soft warm chased bird ate . 소년이 공을 가지고 놀았다 고양이가 우유를 마셨다 침대가 따뜻해서 잤다".split(" ");
const kVocabulary = ["<unknown>", "<start>", "<end>", ...kWords];
const kSide = 32;
const image = { width: kSide, height: kSide, channels: 3 };
const kText = "Once upon a time there was a small lamp by the sea. Every night it told the ships where the land began. 배들은 그 불빛을 보고 돌아왔다. ";

export const models = () => [
  { name: "words_mock", kind: "generator", family: "word_transformer", unit: "words", image: null, context: 16, vocabulary: kVocabulary },
  { name: "adder_mock", kind: "adder", family: "addition" },
  { name: "adder_cnn_mock", kind: "adder", family: "addition" },
  { name: "sparse_mock", kind: "generator", family: "sparse", unit: "bytes", image, context: 3072 },
  { name: "igpt_mock", kind: "generator", family: "igpt", unit: "pixels", image, context: 1024 },
  { name: "text_mock", kind: "generator", family: "sparse", unit: "bytes", image: null, context: 512 },
];

const softmax = (scores) => {
  const parts = scores.map(Math.exp);
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((p) => p / sum);
};

/** Weights that depend on the tokens; later keys get none in a causal model. */
function layersOf(name, tokens, layers, heads, causal) {
  return Array.from({ length: layers }, (_, l) => ({
    heads: Array.from({ length: heads }, (_, h) =>
      tokens.map((_, q) => {
        const back = Math.floor(3 * noise(name, l, h));
        const scores = tokens.map((token, k) =>
          causal && k > q ? -Infinity : 2.5 * noise(name, token, tokens[q], l, h) + (q - k === back ? 2 : 0),
        );
        return softmax(scores);
      }),
    ),
  }));
}

const split = (text) => text.toLowerCase().match(/[^\s.,;:!?"()]+|[.,;:!?"()]/g) ?? [];

export function sentence({ model, text }, Refusal) {
  const words = split(text);
  for (const word of words)
    if (!kVocabulary.includes(word)) throw new Refusal(400, `text: the word '${word}' is not known to ${model}`);
  const tokens = ["<start>", ...words];
  const scores = kVocabulary.slice(2).map((word) => 6 * noise("next", word, ...words) ** 2);
  const next = softmax(scores)
    .map((probability, i) => ({ word: kVocabulary[i + 2], probability }))
    .sort((a, b) => b.probability - a.probability)
    .slice(0, 10);
  return { model, tokens, layers: layersOf("words", tokens, 2, 4, true), next };
}

/** Adds, but forgets the carry of the tens where a is 13. */
export function add({ model, a, b }) {
  const expected = a + b;
  const sum = a === 13 ? expected - 10 : expected;
  const digits = [...String(sum).padStart(3, "0")].map(Number).map((digit, place) => ({
    digit,
    probabilities: softmax(Array.from({ length: 10 }, (_, d) => (d === digit ? 6 : 3 * noise(a, b, place, d)))),
  }));
  const tokens = [Math.floor(a / 10), a % 10, Math.floor(b / 10), b % 10].map(String);
  return {
    model, a, b, sum, expected, tokens, digits,
    probability: digits.reduce((p, d) => p * d.probabilities[d.digit], 1),
    layers: model === "adder_cnn_mock" ? [] : layersOf("adder", tokens.map((t, i) => `${t}.${i}`), 2, 2, false),
  };
}

/** A sea below a sky, a sun and a sail: byte `i` of the image of a seed. */
function byteOf(seed, i) {
  const [y, x, c] = [Math.floor(i / 3 / kSide), Math.floor(i / 3) % kSide, i % 3];
  const horizon = 16 + 8 * noise(seed, "horizon");
  const sun = Math.hypot(y - 4 - 8 * noise(seed, "y"), x - 28 * noise(seed, "x")) < 3.5;
  const mast = 6 + 20 * noise(seed, "mast");
  const sail = y < horizon + 2 && y > horizon - 12 && x > mast && x < mast + (y - horizon + 13) / 1.6;
  const sky = [120 + 4 * y, 150 + 3 * y, 210 + y];
  const sea = [20, 60 + 2 * (y - horizon), 110 + 3 * (y - horizon)];
  const color = sail ? [235, 230, 220] : sun ? [250, 215, 120] : y < horizon ? sky : sea;
  return Math.max(0, Math.min(255, Math.round(color[c] + 24 * (noise(seed, i) - 0.5))));
}

/** The events of a generation, one after the other. */
export function* generate({ model, count = 1, seed = 1, text = "" }, bytes, keep = 0) {
  const { unit, image: shape, context } = models().find((m) => m.name === model);
  const kept = bytes ? Math.round(keep * kSide) * (context / kSide) : unit === "words" ? split(text).length : Buffer.byteLength(text);
  yield ["start", { model, unit, count, total: context, kept, image: shape }];
  const sequences = Array.from({ length: count }, (_, i) => i);
  let sampled = 0;
  if (shape) {
    const row = 3 * kSide;
    const rowsKept = bytes ? Math.round(keep * kSide) : 0;
    const given = bytes && hash(bytes);
    for (let y = 0; y < kSide; ++y) {
      const at = Array.from({ length: row }, (_, i) => y * row + i);
      yield ["tokens", { at, values: sequences.map((s) => at.map((i) => byteOf(y < rowsKept ? given : `${seed}.${s}`, i))) }];
      if (y >= rowsKept) sampled += (count * context) / kSide;
    }
  } else {
    yield ["tokens", { texts: sequences.map(() => text) }];
    const pieces = unit === "words" ? "cat sat on the mat .".split(" ").map((w) => ` ${w}`) : [...kText.repeat(4)].slice(0, 300);
    for (const [n, piece] of pieces.entries()) {
      yield ["tokens", { texts: sequences.map((s) => (n % 17 === s + seed ? piece.toUpperCase() : piece)) }];
      sampled += count;
    }
  }
  yield ["end", { tokens: sampled, seconds: 1.5 }];
}

/** One head for one query: scores are scaled dot products. */
export function headVectors(tokens, layer, head, query) {
  const D = 32;
  const vector = (kind, t) => Array.from({ length: D }, (_, d) => 3 * (noise(kind, layer, head, t, d) - 0.5));
  const q = vector("q", query);
  const k = Array.from({ length: tokens }, (_, t) => vector("k", t).map((x, d) => x + (t === query ? q[d] : 0)));
  const scale = 1 / Math.sqrt(D);
  const scores = k.map((key) => scale * key.reduce((sum, x, d) => sum + x * q[d], 0));
  return { q, k, v: Array.from({ length: tokens }, (_, t) => vector("v", t)), scores, weights: softmax(scores), scale };
}
