// Images or texts while they are generated, token by token.

import type { GenerationStart, GenerationTokens } from "./api";

const kOpaque = 255;

/** Words and signs of punctuation, each of which is a token. */
const wordsOf = (text: string) => (text.match(/[^\s.,;:!?"()]+|[.,;:!?"()]/g) ?? []).length;
/** A byte that is no part of a character arrives as U+FFFD, which would take three. */
const bytesOf = (text: string) => new TextEncoder().encode(text.replaceAll("\ufffd", "?")).length;

export class Generation {
  /** RGBA, a pixel opaque as soon as one of its bytes is known. */
  readonly images: Uint8ClampedArray<ArrayBuffer>[] = [];
  readonly texts: string[] = [];
  /** Bytes of an image that are known: the same ones in every image. */
  private known = 0;

  constructor(readonly start: GenerationStart) {
    const { count, image } = start;
    for (let i = 0; i < count; ++i) {
      if (image) this.images.push(new Uint8ClampedArray(4 * image.width * image.height));
      else this.texts.push("");
    }
  }

  add(tokens: GenerationTokens): void {
    if ("texts" in tokens) {
      tokens.texts.forEach((piece, i) => (this.texts[i] += piece));
      return;
    }
    this.known += tokens.at.length;
    const { channels } = this.start.image!;
    tokens.values.forEach((values, i) => {
      const pixels = this.images[i]!;
      tokens.at.forEach((place, n) => {
        const pixel = 4 * Math.floor(place / channels);
        if (channels === 1) pixels.fill(values[n]!, pixel, pixel + 3);
        else pixels[pixel + (place % channels)] = values[n]!;
        pixels[pixel + 3] = kOpaque;
      });
    });
  }

  /** Tokens of a sequence that are there, the given ones among them. */
  get done(): number {
    const { image, total, unit } = this.start;
    if (image) return Math.round((total * this.known) / (image.width * image.height * image.channels));
    return Math.min(total, Math.max(...this.texts.map(unit === "words" ? wordsOf : bytesOf)));
  }
}
