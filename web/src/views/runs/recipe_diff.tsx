// What differs between the recipes of two runs, line by line.

import { structuredPatch } from "diff";
import { useState } from "preact/hooks";
import { api } from "../../api";
import { useTexts } from "../../i18n";
import { Check } from "../../parts/controls";
import { Loaded } from "../../parts/notice";
import { useResource } from "../../resource";

export function RecipeDiff({ left, right }: { left: string; right: string }) {
  const { t } = useTexts();
  const [whole, setWhole] = useState(false);
  const both = useResource(`recipes|${left}|${right}`, (s) =>
    Promise.all([api.recipe(left, s), api.recipe(right, s)]),
  );
  return (
    <Loaded resource={both}>
      {([a, b]) => {
        const context = whole ? Number.MAX_SAFE_INTEGER : 2;
        const { hunks } = structuredPatch(left, right, a, b, "", "", { context });
        return (
          <>
            <Check label={t("runs.whole_recipe")} checked={whole} onChange={setWhole} />
            {hunks.length === 0 && <p class="notice">{t("runs.same_recipe")}</p>}
            <div class="diff">
              <p class="names">
                <del>{left}</del> <ins>{right}</ins>
              </p>
              {hunks.map((hunk) => (
                <pre key={hunk.oldStart}>
                  {hunk.lines.map((line, i) => {
                    const text = line.slice(1) + "\n";
                    if (line[0] === "-") return <del key={i}>{"− " + text}</del>;
                    if (line[0] === "+") return <ins key={i}>{"+ " + text}</ins>;
                    return <span key={i}>{"  " + text}</span>;
                  })}
                </pre>
              ))}
            </div>
          </>
        );
      }}
    </Loaded>
  );
}
