// The logit lens: what the head would answer behind every layer.

import type { Lens } from "../api";
import { useTexts, type Texts } from "../i18n";

/** "embedding" in the reader's language, the number of "block 3". */
export const lensLabel = ({ t }: Pick<Texts, "t">, name: string) =>
  name === "embedding" ? t("lens.embedding") : name.replace(/^block (?=\d+$)/, "");

export function LensTable({ lens, chosen }: { lens: Lens; chosen?: number }) {
  const texts = useTexts();
  const { t, percent } = texts;
  if (lens.layers.length === 0) return <p class="notice">{t("lens.none")}</p>;
  const shown = Math.min(3, Math.max(...lens.layers.map((l) => l.predictions.length)));
  const answer = chosen ?? lens.layers.at(-1)?.predictions[0]?.index;
  return (
    <div class="scroll">
      <table class="lens">
        <thead>
          <tr>
            <th scope="col">{t("layer_axis")}</th>
            {Array.from({ length: shown }, (_, i) => (
              <th scope="col" key={i}>
                {t("lens.place", { n: i + 1 })}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lens.layers.map((layer, l) => (
            <tr key={l}>
              <th scope="row">{lensLabel(texts, layer.name)}</th>
              {layer.predictions.slice(0, shown).map((p) => (
                <td key={p.index} class={p.index === answer ? "answer" : ""}>
                  <span class="fill" style={{ width: `${100 * p.probability}%` }} />
                  <span class="text">
                    {p.label} <b>{percent(p.probability, 0)}</b>
                  </span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
