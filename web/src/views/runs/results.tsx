// result.json of the chosen runs side by side.

import { api, type Json } from "../../api";
import { useTexts } from "../../i18n";
import { Loaded } from "../../parts/notice";
import { useResource } from "../../resource";

type Result = { [key: string]: Json };

/** The leaves of an object: "test.accuracy" -> 0.93. Lists are no figures for a table. */
export function leaves(value: Json, path = ""): [string, string | number | boolean][] {
  if (value === null || Array.isArray(value)) return [];
  if (typeof value !== "object") return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path ? `${path}.${key}` : key));
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
        );
      }}
    </Loaded>
  );
}
