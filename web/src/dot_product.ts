// Scaled dot-product attention of one query, computed from its vectors.

import type { HeadVectors } from "./api";

export const dot = (a: number[], b: number[]): number => a.reduce((sum, x, i) => sum + x * b[i]!, 0);

export function softmax(scores: number[]): number[] {
  const most = Math.max(...scores);
  const parts = scores.map((s) => Math.exp(s - most));
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((part) => part / sum);
}

export interface Attended {
  /** q · k of every key. */
  products: number[];
  /** What softmax is applied to, and what it gives. */
  scores: number[];
  weights: number[];
  /** The values, averaged with the weights. */
  output: number[];
}

/** With or without the scale. What a network adds to the scores (relative positions) stays. */
export function attended({ q, k, v, scores, scale }: HeadVectors, scaled: boolean): Attended {
  const products = k.map((key) => dot(q, key));
  const own = scaled ? scores : products.map((p, i) => p + scores[i]! - scale * p);
  const weights = softmax(own);
  const output = q.map((_, d) => v.reduce((sum, value, i) => sum + weights[i]! * value[d]!, 0));
  return { products, scores: own, weights, output };
}
