// result.json of the chosen runs side by side, and the confusion matrix where there is one.

import { api, type Json } from "../../api";
import { useTexts } from "../../i18n";
import { ColorBar, MapCanvas } from "../../parts/map_canvas";
import { Loaded } from "../../parts/notice";
import { useResource } from "../../resource";

type Result = { [key: string]: Json };

/** The leaves of an object: "test.accuracy" -> 0.93. Lists are no figures for a table. */
export function leaves(value: Json, path = ""): [string, string | number | boolean][] {
  if (value === null || Array.isArray(value)) return [];
  if (typeof value !== "object") return [[path, value]];
  return Object.entries(value)
    .filter(([key]) => key !== "confusion_matrix")
    .flatMap(([key, inner]) => leaves(inner, path ? `${path}.${key}` : key));
}

/** {"classes": [...], "counts": [[...]]}, rows the true class. */
interface Confusion {
  classes: string[];
  counts: number[][];
}

function ConfusionMatrix({ name, matrix }: { name: string; matrix: Confusion }) {
  const { t, percent } = useTexts();
  const rows = matrix.counts.map((row) => {
    const sum = row.reduce((a, b) => a + b, 0) || 1;
    return row.map((count) => count / sum);
  });
  const size = rows.length;
  const values = rows.flat();
  const worst = values
    .map((value, i) => ({ value, truth: Math.floor(i / size), guess: i % size }))
    .filter((c) => c.truth !== c.guess && c.value > 0)
    .sort((a, b) => b.value - a.value)
    .slice(0, 3);
  return (
    <figure class="confusion">
      <figcaption>{t("runs.confusion_of", { name })}</figcaption>
      <div class="matrix" style={{ "--classes": size }}>
        <div class="rownames">{matrix.classes.map((c) => <span key={c}>{c}</span>)}</div>
        <MapCanvas cells={{ rows: size, columns: size, values: values.map(Math.sqrt) }} top={1} label={t("runs.confusion_of", { name })} />
        <div class="columnnames">{matrix.classes.map((c) => <span key={c}>{c}</span>)}</div>
      </div>
      <ColorBar low="0" high="100 %" />
      <p class="about">{t("runs.confusion_color")}</p>
      <ul>
        {worst.map((c) => (
          <li key={`${c.truth}.${c.guess}`}>
            {t("runs.confused", {
              truth: matrix.classes[c.truth]!,
              guess: matrix.classes[c.guess]!,
              rate: percent(c.value),
            })}
          </li>
        ))}
      </ul>
    </figure>
  );
}

export function Results({ names }: { names: string[] }) {
  const { t, number } = useTexts();
  const results = useResource(`results|${names.join("|")}`, (s) =>
    Promise.all(names.map((name) => api.result(name, s).catch((): Result => ({})))),
  );
  const shown = (value: string | number | boolean | undefined) =>
    value === undefined ? "–" : typeof value === "number" ? number(value, 4) : String(value);
  return (
    <Loaded resource={results}>
      {(all) => {
        const columns = all.map((result) => new Map(leaves(result)));
        const keys = [...new Set(columns.flatMap((c) => [...c.keys()]))];
        if (!keys.length) return <p class="notice">{t("runs.no_result")}</p>;
        return (
          <>
            <div class="scroll">
              <table class="results">
                <thead>
                  <tr>
                    <th scope="col">{t("runs.key")}</th>
                    {names.map((name) => <th scope="col" key={name}>{name}</th>)}
                  </tr>
                </thead>
                <tbody>
                  {keys.map((key) => (
                    <tr key={key}>
                      <th scope="row">{key}</th>
                      {columns.map((c, i) => <td key={i}>{shown(c.get(key))}</td>)}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <div class="confusions">
              {all.map((result, i) =>
                result.confusion_matrix ? (
                  <ConfusionMatrix key={i} name={names[i]!} matrix={result.confusion_matrix as unknown as Confusion} />
                ) : null,
              )}
            </div>
          </>
        );
      }}
    </Loaded>
  );
}
