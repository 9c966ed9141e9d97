// Predictions as bars.

import type { Prediction } from "../api";
import { useTexts } from "../i18n";

export function Bars(props: {
  predictions: Prediction[];
  /** The answer before a change: a mark on each bar, and the difference beside it. */
  before?: Prediction[];
  chosen?: number;
  onChoose?: (index: number) => void;
  /** Which can be chosen: all, unless said otherwise. */
  choosable?: (index: number) => boolean;
  /** What choosing a label does. */
  choosing?: (label: string) => string;
}) {
  const { t, percent, number } = useTexts();
  const was = (index: number) => props.before?.find((p) => p.index === index)?.probability;
  const change = (p: Prediction) => {
    const old = was(p.index);
    if (old === undefined) return "";
    const points = 100 * (p.probability - old);
    const sign = points > 0 ? "+" : points < 0 ? "−" : "±";
    return t("points", { value: sign + number(Math.abs(points), 1, 1) });
  };
  return (
    <ol class={props.before ? "bars changed" : "bars"}>
      {props.predictions.map((p) => {
        const row = (
          <>
            <span class="label">{p.label}</span>
            <span class="track" aria-hidden="true">
              <span class="fill" style={{ width: `${100 * p.probability}%` }} />
              {was(p.index) !== undefined && (
                <span class="mark" style={{ left: `${100 * was(p.index)!}%` }} />
              )}
            </span>
            <span class="value">{percent(p.probability)}</span>
            {props.before && <span class="change">{change(p)}</span>}
          </>
        );
        return (
          <li key={p.index}>
            {props.onChoose && (props.choosable?.(p.index) ?? true) ? (
              <button
                type="button"
                aria-pressed={p.index === props.chosen}
                title={props.choosing?.(p.label)}
                onClick={() => props.onChoose!(p.index)}
              >
                {row}
              </button>
            ) : (
              <div>{row}</div>
            )}
          </li>
        );
      })}
    </ol>
  );
}
