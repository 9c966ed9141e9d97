// Attention patterns: which keys each query attends to, and what that costs against dense attention.

import { scaleLog } from "d3-scale";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useTexts, type Key } from "../../i18n";
import { Check, Section, Segments, Slider } from "../../parts/controls";
import { allows, densePairs, firstFactor, kDefaults, kFactors, kKinds, pairs, valid, type Pattern } from "../../pattern";
import { choiceOf, numberOf } from "../../route";
import type { ViewProps } from "../explore";

const kLengths = [32, 64, 128, 256, 512, 1024];
const kColors = { first: "#b73779", second: "#fb8861" };

export function patternOf(query: URLSearchParams): Pattern {
  const stride = numberOf(query, "stride", kDefaults.stride, 1, 64);
  return {
    kind: choiceOf(query, "kind", kKinds, kDefaults.kind),
    stride,
    summary_tokens: numberOf(query, "summary", kDefaults.summary_tokens, 1, 64),
    offset: numberOf(query, "offset", kDefaults.offset, 0, 63),
    globals: numberOf(query, "globals", kDefaults.globals, 0, 16),
    factor: choiceOf(query, "factor", kFactors, kDefaults.factor),
    causal: query.get("causal") !== "no",
    short_window: query.get("short") === "yes",
  };
}

/** The mask of n tokens; the factors of a factorised pattern in two colours. */
function Mask({ pattern, n }: { pattern: Pattern; n: number }) {
  const { t } = useTexts();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [query, setQuery] = useState(Math.floor((n * 3) / 4));
  const row = Math.min(query, n - 1);
  const side = Math.max(1, Math.floor(640 / n)) * n;
  useLayoutEffect(() => {
    const c = canvas.current!.getContext("2d")!;
    const cell = side / n;
    const gap = cell >= 6 ? 1 : 0;
    c.clearRect(0, 0, side, side);
    const style = getComputedStyle(canvas.current!);
    for (let i = 0; i < n; ++i) {
      for (let j = 0; j < n; ++j) {
        if (!allows(pattern, i, j)) {
          if (pattern.causal && j > i) continue;
          c.fillStyle = style.getPropertyValue("--cell");
        } else {
          const first = pattern.kind === "dense" || (pattern.factor !== "second" && firstFactor(pattern, i, j));
          c.fillStyle = first ? kColors.first : kColors.second;
        }
        c.globalAlpha = i === row || !allows(pattern, i, j) ? 1 : 0.72;
        c.fillRect(j * cell, i * cell, cell - gap, cell - gap);
      }
    }
    c.globalAlpha = 1;
    c.strokeStyle = style.color;
    c.lineWidth = 2;
    c.strokeRect(1, row * cell, side - 2, cell - gap);
  });
  const keys = Array.from({ length: n }, (_, j) => j).filter((j) => allows(pattern, row, j));
  return (
    <figure class="mask">
      <span class="axis y">{t("patterns.query_axis")}</span>
      <canvas
        ref={canvas}
        width={side}
        height={side}
        tabIndex={0}
        role="application"
        aria-label={t("patterns.mask_label", { n })}
        aria-description={t("patterns.mask_keys")}
        onPointerMove={(e) => {
          const box = canvas.current!.getBoundingClientRect();
          setQuery(Math.max(0, Math.min(n - 1, Math.floor(((e.clientY - box.top) / box.height) * n))));
        }}
        onKeyDown={(e) => {
          const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
          if (!step) return;
          e.preventDefault();
          setQuery(Math.max(0, Math.min(n - 1, row + step)));
        }}
      />
      <span class="axis x">{t("patterns.key_axis")}</span>
      <Swatches pattern={pattern} />
      <figcaption aria-live="polite">
        {t("patterns.reading", { query: row, count: keys.length, keys: shortList(keys) })}
      </figcaption>
    </figure>
  );
}

/** What the two colours of the mask stand for. */
function Swatches({ pattern }: { pattern: Pattern }) {
  const { t } = useTexts();
  const names: Partial<Record<Pattern["kind"], [Key, Key]>> = {
    strided: ["patterns.key_first", "patterns.key_second"],
    fixed: ["patterns.key_first", "patterns.key_second"],
    longformer: ["patterns.key_window", "patterns.key_globals"],
  };
  const shown = names[pattern.kind];
  if (!shown) return null;
  return (
    <p class="swatches">
      <span><i style={{ background: kColors.first }} />{t(shown[0])}</span>
      <span><i style={{ background: kColors.second }} />{t(shown[1])}</span>
    </p>
  );
}

/** "0–3, 7, 11": runs of indices, at most eight of them. */
export function shortList(values: number[]): string {
  const runs: [number, number][] = [];
  for (const v of values) {
    const last = runs.at(-1);
    if (last && last[1] === v - 1) last[1] = v;
    else runs.push([v, v]);
  }
  const names = runs.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`));
  return names.length > 8 ? [...names.slice(0, 7), "…", names.at(-1)].join(", ") : names.join(", ");
}

/** Pairs over the length of the sequence, both axes logarithmic. */
function CostPlot({ pattern }: { pattern: Pattern }) {
  const { t, number } = useTexts();
  const key = JSON.stringify(pattern);
  const rows = useMemo(
    () => kLengths.map((n) => ({ n, own: pairs(pattern, n), dense: densePairs(pattern.causal, n) })),
    [key],
  );
  const x = scaleLog([32, 1024], [64, 470]);
  const y = scaleLog([Math.min(...rows.map((r) => Math.max(1, r.own))), 1024 * 1024], [230, 14]);
  const line = (value: (r: (typeof rows)[0]) => number) =>
    rows.map((r) => `${x(r.n)},${y(Math.max(1, value(r)))}`).join(" ");
  return (
    <figure class="plot">
      <svg viewBox="0 0 500 270" role="img" aria-label={t("patterns.cost_label")}>
        {y.ticks(6).filter((v) => Number.isInteger(Math.log10(v))).map((tick) => (
          <g key={tick} class="tick" transform={`translate(0 ${y(tick)})`}>
            <line x1="64" x2="470" />
            <text x="56" dy="0.32em" text-anchor="end">{number(tick)}</text>
          </g>
        ))}
        {kLengths.map((n) => (
          <text key={n} class="tick" x={x(n)} y="248" text-anchor="middle">{n}</text>
        ))}
        <text class="axis" x="267" y="266" text-anchor="middle">{t("patterns.tokens")}</text>
        <polyline class="uniform" points={line((r) => r.dense)} />
        <polyline class="own" points={line((r) => r.own)} />
        {rows.map((r) => (
          <circle key={r.n} class="dot" cx={x(r.n)} cy={y(Math.max(1, r.own))} r="4">
            <title>{`${r.n}: ${number(r.own)} / ${number(r.dense)}`}</title>
          </circle>
        ))}
      </svg>
      <figcaption>{t("patterns.cost_caption")}</figcaption>
    </figure>
  );
}

export function Patterns({ query, setQuery }: ViewProps) {
  const texts = useTexts();
  const { t, number, percent } = texts;
  const pattern = patternOf(query);
  const n = numberOf(query, "n", 64, 8, 160);
  const { kind } = pattern;
  const fits = valid(pattern);
  const own = fits ? pairs(pattern, n) : 0;
  const dense = densePairs(pattern.causal, n);
  const windowed = kind === "local" || kind === "longformer" || (kind === "strided" && pattern.factor !== "second");
  return (
    <>
      <p class="lead">{t("patterns.lead")}</p>
      <div class="columns">
        <div class="controls">
          <Segments
            label={t("patterns.kind")}
            value={kind}
            onChange={(value) => setQuery({ kind: value })}
            choices={kKinds.map((value) => ({ value, label: texts.named("pattern", value) }))}
          />
          <p class="about">{texts.named("pattern_about", kind)}</p>
          <Slider label={t("patterns.tokens")} value={n} min={8} max={160} onChange={(v) => setQuery({ n: v })} />
          {kind !== "dense" && (
            <Slider
              label={t(kind === "strided" || kind === "fixed" ? "patterns.stride" : "patterns.window")}
              value={pattern.stride}
              min={1}
              max={64}
              onChange={(stride) => setQuery({ stride })}
            />
          )}
          {kind === "fixed" && (
            <>
              <Slider label={t("patterns.summary")} value={pattern.summary_tokens} min={1} max={Math.max(pattern.stride, pattern.summary_tokens)} onChange={(v) => setQuery({ summary: v })} />
              <Slider label={t("patterns.offset")} value={pattern.offset} min={0} max={8} onChange={(v) => setQuery({ offset: v })} />
            </>
          )}
          {kind === "longformer" && (
            <Slider label={t("patterns.globals")} value={pattern.globals} min={0} max={16} onChange={(v) => setQuery({ globals: v })} />
          )}
          {(kind === "strided" || kind === "fixed") && (
            <Segments
              label={t("patterns.factor")}
              value={pattern.factor}
              onChange={(factor) => setQuery({ factor })}
              choices={kFactors.map((value) => ({ value, label: texts.named("factor", value) }))}
            />
          )}
          <Check label={t("patterns.causal")} checked={pattern.causal} onChange={(on) => setQuery({ causal: on ? null : "no" })} />
          {windowed && (
            <Check label={t("patterns.short")} checked={pattern.short_window} onChange={(on) => setQuery({ short: on ? "yes" : null })} />
          )}
          {fits ? (
            <p class="figure-number" data-testid="cost">
              <strong>{percent(own / dense)}</strong>
              <span>{t("patterns.cost", { own: number(own), dense: number(dense) })}</span>
            </p>
          ) : (
            <p class="notice problem" role="alert">
              {t("patterns.invalid", { n: pattern.offset + 1, summary: pattern.summary_tokens, stride: pattern.stride })}
            </p>
          )}
        </div>
        {fits && <Mask pattern={pattern} n={n} />}
      </div>
      {fits && (
        <Section title={t("patterns.growth")} about={t("patterns.growth_about")}>
          <CostPlot pattern={pattern} />
        </Section>
      )}
      <p class="about">{t("patterns.definition")}</p>
    </>
  );
}
