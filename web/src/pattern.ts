// A port of vitrine/core/attention_pattern.{h,cpp}, the one definition of every pattern: same fields, same
// formulas. tests/unit/pattern.test.ts checks it against masks written out by hand.

export const kKinds = ["dense", "local", "strided", "fixed", "longformer"] as const;
export const kFactors = ["both", "first", "second"] as const;
export type Kind = (typeof kKinds)[number];
export type Factor = (typeof kFactors)[number];

export interface Pattern {
  kind: Kind;
  stride: number;
  summary_tokens: number;
  offset: number;
  globals: number;
  factor: Factor;
  causal: boolean;
  short_window: boolean;
}

export const kDefaults: Pattern = {
  kind: "strided",
  stride: 8,
  summary_tokens: 1,
  offset: 0,
  globals: 1,
  factor: "both",
  causal: true,
  short_window: false,
};

/** Whether the summaries of a fixed pattern fit its block (AttentionPattern::validate). */
export function valid(p: Pattern): boolean {
  return p.kind !== "fixed" || p.summary_tokens * (p.offset + 1) <= p.stride;
}

const block = (i: number, p: Pattern) => Math.floor(i / p.stride);

export function firstFactor(p: Pattern, i: number, j: number): boolean {
  if (p.kind === "fixed") return block(i, p) === block(j, p);
  return Math.abs(i - j) <= (p.short_window ? p.stride - 1 : p.stride);
}

export function secondFactor(p: Pattern, i: number, j: number): boolean {
  if (p.kind === "strided") return (i - j) % p.stride === 0;
  if (p.kind === "longformer") return i < p.globals || j < p.globals;
  const beforeEnd = p.stride - 1 - (j % p.stride);
  return Math.floor(beforeEnd / p.summary_tokens) === p.offset;
}

/** Whether token i may attend to token j. */
export function allows(p: Pattern, i: number, j: number): boolean {
  if (p.causal && j > i) return false;
  switch (p.kind) {
    case "dense":
      return true;
    case "local":
      return firstFactor(p, i, j);
    case "longformer":
      return firstFactor(p, i, j) || secondFactor(p, i, j);
    case "strided":
    case "fixed":
      return (
        (p.factor !== "second" && firstFactor(p, i, j)) ||
        (p.factor !== "first" && secondFactor(p, i, j))
      );
  }
}

/** Pairs of query and key that the pattern computes for a sequence of n tokens. */
export function pairs(p: Pattern, n: number): number {
  let count = 0;
  for (let i = 0; i < n; ++i) for (let j = 0; j < n; ++j) if (allows(p, i, j)) ++count;
  return count;
}

/** The pairs of dense attention, causal or not. */
export function densePairs(causal: boolean, n: number): number {
  return causal ? (n * (n + 1)) / 2 : n * n;
}
