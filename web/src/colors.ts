// One colour scale for attention in the whole page: magma, perceptually uniform, dark = nothing.

import { interpolateMagma } from "d3-scale-chromatic";

/** 256 colours as they lie in the memory of ImageData (little-endian RGBA). */
export const kMagma = Uint32Array.from({ length: 256 }, (_, i) => {
  const hex = interpolateMagma(i / 255).slice(1);
  const part = (at: number) => parseInt(hex.slice(at, at + 2), 16);
  return ((255 << 24) | (part(4) << 16) | (part(2) << 8) | part(0)) >>> 0;
});

/** The same colours as a style sheet writes them. */
export const kMagmaCss = Array.from({ length: 256 }, (_, i) => interpolateMagma(i / 255));

export const kMagmaGradient = `linear-gradient(90deg, ${Array.from({ length: 9 }, (_, i) =>
  interpolateMagma(i / 8),
).join(", ")})`;

/** Runs and heads in charts: distinct in lightness too, on paper and on black. */
export const kSeries = ["#b73779", "#2f7f8f", "#e07b39", "#5b5fc7", "#6a994e", "#a08000"];

export const seriesColor = (i: number): string => kSeries[i % kSeries.length]!;
