// The cases of tests/core/attention_pattern_test.cpp.
import { describe, expect, it } from "vitest";
import { allows, densePairs, kDefaults, pairs, valid, type Pattern } from "../../src/pattern";

const kProgram: Pattern = { ...kDefaults, kind: "dense", stride: 64, summary_tokens: 8 };

function seen(pattern: Partial<Pattern>, i: number, n: number): number[] {
  const p = { ...kProgram, ...pattern };
  return Array.from({ length: n }, (_, j) => j).filter((j) => allows(p, i, j));
}

describe("attention pattern", () => {
  it("follows the papers' definitions", () => {
    expect(seen({ kind: "dense" }, 3, 6)).toEqual([0, 1, 2, 3]);
    expect(seen({ kind: "local", stride: 2 }, 5, 9)).toEqual([3, 4, 5]);
    expect(seen({ kind: "strided", stride: 3, factor: "first" }, 7, 9)).toEqual([4, 5, 6, 7]);
    expect(seen({ kind: "strided", stride: 3, factor: "second" }, 7, 9)).toEqual([1, 4, 7]);
    expect(seen({ kind: "strided", stride: 3 }, 7, 9)).toEqual([1, 4, 5, 6, 7]);
    const fixed = { kind: "fixed", stride: 4, summary_tokens: 1 } as const;
    expect(seen(fixed, 9, 12)).toEqual([3, 7, 8, 9]);
    expect(seen({ ...fixed, offset: 1, factor: "second" }, 11, 12)).toEqual([2, 6, 10]);
    expect(seen({ kind: "longformer", stride: 1, globals: 2 }, 6, 9)).toEqual([0, 1, 5, 6]);
  });
  it("has the short window of OpenAI's code", () => {
    expect(seen({ kind: "local", stride: 2, causal: false, short_window: true }, 4, 9)).toEqual([3, 4, 5]);
    expect(seen({ kind: "strided", stride: 1, short_window: true, factor: "first" }, 4, 9)).toEqual([4]);
  });
  it("sees both ways unless causal", () => {
    expect(seen({ kind: "local", stride: 1, causal: false }, 4, 9)).toEqual([3, 4, 5]);
    expect(seen({ kind: "strided", stride: 4, factor: "second", causal: false }, 4, 9)).toEqual([0, 4, 8]);
    expect(seen({ kind: "longformer", stride: 1, globals: 1, causal: false }, 0, 4)).toEqual([0, 1, 2, 3]);
  });
  it("refuses summaries that do not fit", () => {
    expect(valid({ ...kProgram, kind: "fixed", stride: 8, summary_tokens: 5, offset: 1 })).toBe(false);
    expect(valid({ ...kProgram, kind: "fixed", stride: 8, summary_tokens: 4, offset: 1 })).toBe(true);
  });
  it("counts pairs as the mask has them", () => {
    for (const causal of [true, false]) {
      expect(pairs({ ...kProgram, causal }, 37)).toBe(densePairs(causal, 37));
      const local: Pattern = { ...kProgram, kind: "local", stride: 2, causal };
      expect(pairs(local, 10)).toBe(causal ? 10 + 9 + 8 : 10 + 2 * (9 + 8));
    }
  });
});
