// Query, key and value of one head with their numbers: the dot product, the scale, softmax, the mean of the values.

import { useMemo, useState } from "preact/hooks";
import type { HeadVectors } from "../../api";
import type { Grid } from "../../attention";
import { attended } from "../../dot_product";
import { useTexts } from "../../i18n";
import { Check } from "../../parts/controls";

const kShownKeys = 6;
const kHeight = 44;

/** A vector as bars above and below a line; `top` is the length of the longest. */
function SignedBars(props: { label: string; values: number[]; top: number; sum?: string }) {
  const { values, top } = props;
  const middle = kHeight / 2;
  return (
    <div class="vector">
      <span>{props.label}</span>
      <svg viewBox={`0 0 ${values.length} ${kHeight}`} preserveAspectRatio="none" role="img" aria-label={props.label}>
        {values.map((value, i) => {
          const length = top > 0 ? Math.min(middle, (Math.abs(value) / top) * middle) : 0;
          return <rect key={i} class={value < 0 ? "minus" : "plus"} x={i + 0.1} width={0.8} y={value < 0 ? middle : middle - length} height={length} />;
        })}
        <line x1={0} x2={values.length} y1={middle} y2={middle} />
      </svg>
      <span class="value">{props.sum}</span>
    </div>
  );
}

const longest = (...vectors: number[][]) => Math.max(...vectors.flat().map(Math.abs));

export function VectorsOfHead({ vectors, keys }: { vectors: HeadVectors; keys: Grid }) {
  const { t, number, percent } = useTexts();
  const [scaled, setScaled] = useState(true);
  const [chosen, setChosen] = useState<number>();
  const withScale = useMemo(() => attended(vectors, true), [vectors]);
  const withoutScale = useMemo(() => attended(vectors, false), [vectors]);
  const now = scaled ? withScale : withoutScale;
  const order = useMemo(() => [...withScale.weights.keys()].sort((a, b) => withScale.weights[b]! - withScale.weights[a]!), [withScale]);
  const key = chosen !== undefined && chosen < vectors.k.length ? chosen : order[0]!;
  const top = order.slice(0, kShownKeys);
  const shown = top.includes(key) ? top : [...top, key];
  const name = (i: number) =>
    i < keys.prefix
      ? t("explore.class_token")
      : t("cell", { row: Math.floor((i - keys.prefix) / keys.columns) + 1, column: ((i - keys.prefix) % keys.columns) + 1 });
  const { q } = vectors;
  const k = vectors.k[key]!;
  const product = q.map((x, i) => x * k[i]!);
  const most = Math.max(...now.weights);
  return (
    <div class="vectors">
      <figure>
        <SignedBars label={t("guided.q")} values={q} top={longest(q, k)} />
        <SignedBars label={t("guided.k", { key: name(key) })} values={k} top={longest(q, k)} />
        <SignedBars label={t("guided.product")} values={product} top={longest(product)} sum={t("guided.sum_is", { value: number(now.products[key]!, 2, 2) })} />
        <SignedBars label={t("guided.output")} values={now.output} top={longest(now.output)} />
        <figcaption>{t("guided.vectors_caption", { n: q.length })}</figcaption>
      </figure>
      <Check label={t("guided.scaled", { scale: number(vectors.scale, 4), n: q.length })} checked={scaled} onChange={setScaled} />
      <div class="scroll">
        <table class="softmax">
          <thead>
            <tr>
              <th scope="col">{t("guided.key")}</th>
              <th scope="col">q · k</th>
              <th scope="col">{t("guided.raw_score")}</th>
              <th scope="col">{t("guided.weight")}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((i) => (
              <tr key={i}>
                <th scope="row">
                  <button type="button" aria-pressed={i === key} onClick={() => setChosen(i)}>{name(i)}</button>
                </th>
                <td class="number">{number(now.products[i]!, 2, 2)}</td>
                <td class="number">{number(now.scores[i]!, 2, 2)}</td>
                <td class="bar"><span class="fill" style={{ width: `${(100 * now.weights[i]!) / most}%` }} /><span class="text">{percent(now.weights[i]!)}</span></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="reading" data-testid="sharpness">
        {t("guided.sharper", { with: percent(Math.max(...withScale.weights)), without: percent(Math.max(...withoutScale.weights)) })}
      </p>
    </div>
  );
}
