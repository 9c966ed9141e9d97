// Attention as lines: the tokens that look on the left, those that are looked at on the right.

import { useRef } from "preact/hooks";
import { seriesColor } from "../../colors";
import { useTexts } from "../../i18n";
import type { Label } from "../../parts/weight_table";

/** A token that was pointed at, as query or as key. */
export interface Word {
  side: "query" | "key";
  index: number;
}

export const wordOf = (text: string | null): Word | undefined => {
  const match = /^([qk])(\d{1,4})$/.exec(text ?? "");
  return match ? { side: match[1] === "q" ? "query" : "key", index: Number(match[2]) } : undefined;
};
export const wordText = (word: Word | undefined): string | null => word ? `${word.side[0]}${word.index}` : null;

/** Weights below this are not worth a line. */
const kLeast = 0.01;
/** How far the lines of several heads lie apart, in rows. */
const kApart = 0.09;

interface Props {
  tokens: Label[];
  /** By head, query and key. */
  heads: { index: number; weights: number[][] }[];
  active: Word | undefined;
  chosen: Word | undefined;
  onHover: (word: Word | undefined) => void;
  onChoose: (word: Word | undefined) => void;
}

function Lines({ tokens, heads, active }: Props) {
  const n = tokens.length;
  const touches = (q: number, k: number) => !active || (active.side === "query" ? q : k) === active.index;
  return (
    <svg viewBox={`0 0 100 ${n}`} preserveAspectRatio="none" aria-hidden="true">
      {heads.map(({ index, weights }, h) =>
        weights.map((row, q) =>
          row.map((weight, k) => {
            if (weight < kLeast || !touches(q, k)) return null;
            const shift = 0.5 + kApart * (h - (heads.length - 1) / 2);
            const [from, to] = [q + shift, k + shift];
            return (
              <path
                key={`${h}.${q}.${k}`}
                d={`M0 ${from} C45 ${from} 55 ${to} 100 ${to}`}
                stroke={seriesColor(index)}
                stroke-width={1 + (heads.length > 1 ? 2 : 5) * weight}
                stroke-opacity={Math.min(1, 0.08 + weight)}
              />
            );
          }),
        ),
      )}
    </svg>
  );
}

/** The weight of each token of the other side, averaged over the heads that are shown. */
function weightsOf(heads: Props["heads"], active: Word, n: number): number[] {
  return Array.from({ length: n }, (_, i) => {
    const of = (weights: number[][]) => (active.side === "query" ? weights[active.index]![i]! : weights[i]![active.index]!);
    return heads.reduce((sum, { weights }) => sum + of(weights), 0) / heads.length;
  });
}

export function HeadLines(props: Props) {
  const { t, percent } = useTexts();
  const { tokens, active, chosen } = props;
  const figure = useRef<HTMLElement>(null);
  const shown = active && weightsOf(props.heads, active, tokens.length);
  const focus = (word: Word) => {
    figure.current!.querySelector<HTMLElement>(`[data-word="${wordText(word)}"]`)!.focus();
    props.onChoose(word);
  };
  const onKey = (event: KeyboardEvent, { side, index }: Word) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) focus({ side, index: Math.max(0, Math.min(tokens.length - 1, index + step)) });
    else if (event.key === "ArrowLeft") focus({ side: "query", index });
    else if (event.key === "ArrowRight") focus({ side: "key", index });
    else if (event.key === "Escape") props.onChoose(undefined);
    else return;
    event.preventDefault();
  };
  const column = (side: Word["side"]) => (
    <ol aria-label={t(side === "query" ? "patterns.query_axis" : "patterns.key_axis")} class={side}>
      {tokens.map((token, index) => {
        const word = { side, index };
        const is = (other: Word | undefined) => other?.side === side && other.index === index;
        const weight = active && active.side !== side ? shown![index]! : undefined;
        return (
          <li key={index}>
            <button
              type="button"
              data-word={wordText(word)}
              class={is(active) ? "word lit" : "word"}
              tabIndex={is(chosen ?? { side: "query", index: 0 }) ? 0 : -1}
              aria-pressed={is(chosen)}
              style={{ "--weight": weight === undefined ? "0%" : `${Math.round(100 * weight)}%` }}
              onPointerEnter={(e) => e.pointerType === "mouse" && props.onHover(word)}
              onClick={() => props.onChoose(is(chosen) ? undefined : word)}
              onKeyDown={(e) => onKey(e, word)}
            >
              <span>
                {token.text}
                {token.note && <small> {token.note}</small>}
              </span>
              <em>{weight !== undefined && percent(weight, 0)}</em>
            </button>
          </li>
        );
      })}
    </ol>
  );
  return (
    <figure class="headlines" ref={figure} onPointerLeave={() => props.onHover(undefined)}>
      <span class="axis">{t("patterns.query_axis")}</span>
      <span class="axis">{t("patterns.key_axis")}</span>
      {column("query")}
      <Lines {...props} />
      {column("key")}
    </figure>
  );
}
