// The predictions of a synthetic classifier for its test set, and the images.

import { deflateSync } from "node:zlib";

const kClasses = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/** Examples per cell: mostly right, with three pairs that are confused often. */
function count(truth, guess) {
  const often = { "3.5": 92, "5.3": 71, "9.1": 40 }[`${truth}.${guess}`];
  return often ?? (truth === guess ? 930 : (truth * 7 + guess * 3) % 9);
}

export function confusion() {
  const cells = kClasses.flatMap((_, t) => kClasses.map((_, g) => [t, g, count(t, g)])).filter((cell) => cell[2] > 0);
  return { classes: kClasses, examples: cells.reduce((sum, cell) => sum + cell[2], 0), cells };
}

export function cell(truth, guess, limit) {
  const total = count(truth, guess);
  const examples = Array.from({ length: Math.min(limit, total) }, (_, i) => {
    const probability = 0.98 - (0.6 * i) / total;
    return { index: 1000 * truth + 100 * guess + i, true: truth, predicted: guess, probability, true_probability: truth === guess ? probability : (1 - probability) * 0.7 };
  });
  return { total, examples };
}

/** A PNG of 32 x 32 pixels: stripes in a colour of the class. */
export function image(index) {
  const side = 32;
  const truth = Math.floor(index / 1000);
  const rows = Buffer.alloc(side * (1 + 3 * side));
  for (let y = 0; y < side; ++y)
    for (let x = 0; x < side; ++x)
      for (let c = 0; c < 3; ++c)
        rows[y * (1 + 3 * side) + 1 + 3 * x + c] = 128 + 60 * Math.sin(0.3 * x + 0.2 * truth * y + index) + 60 * Math.sin(truth + 2 * c);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; ++bit) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
