// Every part of the page in both languages, light and dark, wide and on a phone, for people to look at: only where $SHOTS
// names a folder. `-t "ko dark phone"` makes some of them.
import { afterAll, describe, it } from "vitest";
import { closeBrowser, shot, withPage } from "./browser";

afterAll(closeBrowser);

const kParts = {
  explore: "explore?layer=8&head=3&at=500,400",
  switched: "explore?map=relevance&heads=3.2,4.4&layers=7&patches=90,91,104,105&grid=14.14",
  compare: "explore?model2=cct_mock",
  tokens: "guided",
  vectors: "guided?step=vectors&layer=3&head=1",
  softmax: "guided?step=softmax",
  logits: "guided?step=logits",
  sentence: "sequences?word=q3",
  adder: "sequences?tab=adder",
  patterns: "sequences?tab=patterns",
  sampling: "sequences?tab=sampling&model=sparse_mock&mode=complete",
  runs: "runs?runs=vit-baseline,vit-low-lr",
  sweeps: "runs?tab=sweeps",
};

const kWidths = { wide: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } };

describe.skipIf(!process.env.SHOTS)("gallery", () => {
  for (const locale of ["en", "ko"])
    for (const colorScheme of ["light", "dark"] as const)
      for (const [width, viewport] of Object.entries(kWidths))
        it.each(Object.entries(kParts))(`${locale} ${colorScheme} ${width}: %s`, (name, hash) =>
          withPage(`#/${hash}`, async ({ page }) => {
            await page.getByRole("heading", { level: 1 }).waitFor();
            await page.waitForLoadState("networkidle");
            await page.waitForTimeout(1000);
            await shot(page, `gallery-${name}-${locale}-${colorScheme}-${width}`);
          }, { locale, colorScheme, viewport, isMobile: width === "phone", hasTouch: width === "phone" }));
});
