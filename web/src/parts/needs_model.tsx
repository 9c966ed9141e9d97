// What to do where no model of the kind that a view needs is served.

import { useTexts } from "../i18n";

export function NeedsModel({ about, recipe }: { about: string; recipe: string }) {
  const { t } = useTexts();
  return (
    <div class="notice needs">
      <p>{about}</p>
      <pre tabIndex={0} aria-label={t("needs.commands")}>
        <code>{`vitrine train recipes/${recipe}\nvitrine serve RUN`}</code>
      </pre>
      <p>{t("needs.run")}</p>
    </div>
  );
}
