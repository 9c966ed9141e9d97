import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { closeBrowser, expectNoOverflow, shot, withPage } from "./browser";

afterAll(closeBrowser);

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

async function expectNoFault(page: Page) {
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
  expect(passes.length).toBeGreaterThan(10);
  expect(violations.map((v) => `${v.id}: ${v.nodes[0]!.html}`)).toEqual([]);
}

describe("the confusion matrix", () => {
  const cell = (page: Page, truth: number, guess: number) =>
    page.locator(".cells").evaluate((element, at) => {
      const box = element.getBoundingClientRect();
      return { x: ((at.guess + 0.5) * box.width) / 10, y: ((at.truth + 0.5) * box.height) / 10 };
    }, { truth, guess });

  it("shows the test images behind a cell", () =>
    withPage("#/runs?runs=vit-baseline", async ({ page, mock }) => {
      await page.getByText("Point at a cell, or move with the arrow keys.").waitFor();
      await page.locator(".cells").hover({ position: await cell(page, 9, 1) });
      await page.getByText("True class truck, predicted automobile: 40 of").waitFor();
      await page.locator(".cells").click({ position: await cell(page, 3, 5) });
      await page.getByRole("heading", { name: "cat taken for dog" }).waitFor();
      await expect.poll(() => page.locator(".thumbnails img").count()).toBe(24);
      await expect.poll(() => page.locator(".thumbnails img").first().evaluate((e) => (e as HTMLImageElement).naturalWidth)).toBe(32);
      await expect.poll(() => page.locator(".thumbnails li").first().textContent()).toBe("dog 98%cat 1%");
      await expect.poll(() => page.url()).toContain("cell=3.5");
      await shot(page, "confusion");
      await page.getByRole("button", { name: "Show more" }).click();
      await expect.poll(() => page.locator(".thumbnails img").count()).toBe(48);
      expect(mock.asked).toContain("GET /v1/runs/vit-baseline/predictions?true=3&predicted=5&limit=48");
    }));
  it("is used with the keyboard, and lists what is confused most", () =>
    withPage("#/runs?runs=vit-baseline", async ({ page }) => {
      await page.locator(".cells").focus();
      await page.keyboard.press("ArrowDown");
      await page.getByRole("heading", { name: "airplane, recognised" }).waitFor();
      await page.keyboard.press("ArrowRight");
      await page.getByRole("heading", { name: "airplane taken for automobile" }).waitFor();
      await expect.poll(() => page.url()).toContain("cell=0.1");
      await page.getByRole("button", { name: "dog taken for cat" }).click();
      await page.getByRole("heading", { name: "dog taken for cat" }).waitFor();
      await expect.poll(() => page.url()).toContain("cell=5.3");
    }));
  it("says which data are missing, once", () =>
    withPage("#/runs?runs=vit-baseline&cell=3.5", async ({ page }) => {
      await page.getByText("The server answers: cifar10: data/cifar10/test_batch.bin is missing; run `vitrine data fetch cifar10`").waitFor();
      await expect.poll(() => page.locator(".notice.problem").count()).toBe(1);
    }, {}, { images: false }));
  it("is not there for runs without predictions", () =>
    withPage("#/runs?runs=vit-low-lr", async ({ page }) => {
      await page.getByText("None of these runs has predictions of its test set").waitFor();
      await expect.poll(() => page.locator(".notice.problem").count()).toBe(0);
    }));
  it.each(["light", "dark"] as const)("has no fault that axe finds, in Korean: %s", (colorScheme) =>
    withPage("#/runs?runs=vit-baseline&cell=3.5", async ({ page }) => {
      await page.getByRole("heading", { name: "정답 cat, 예측 dog" }).waitFor();
      await page.locator(".thumbnails img").nth(23).waitFor();
      await expectNoFault(page);
      await shot(page, `confusion-ko-${colorScheme}`);
    }, { locale: "ko-KR", colorScheme }));
  it("fits a phone", () =>
    withPage("#/runs?runs=vit-baseline&cell=3.5", async ({ page }) => {
      await page.locator(".thumbnails img").nth(23).waitFor();
      await expectNoOverflow(page);
      await shot(page, "phone-confusion");
    }, phone));
});

describe("sweeps", () => {
  const shown = (page: Page) => page.getByRole("status").textContent();
  /** The middle of the grip of an axis, at a fraction of its height from the bottom. */
  const onAxis = async (page: Page, axis: number, place: number) => {
    const box = (await page.locator(".parallel .grip").nth(axis).boundingBox())!;
    return { x: box.x + box.width / 2, y: box.y + 10 + (1 - place) * (box.height - 20) };
  };
  const drag = async (page: Page, axis: number, from: number, to: number) => {
    const [a, b] = [await onAxis(page, axis, from), await onAxis(page, axis, to)];
    await page.mouse.move(a.x, a.y);
    await page.mouse.down();
    await page.mouse.move(a.x, (a.y + b.y) / 2);
    await page.mouse.move(b.x, b.y);
    await page.mouse.up();
  };

  it("are lines across an axis per setting and result", () =>
    withPage("#/runs", async ({ page }) => {
      await page.getByRole("tab", { name: "Sweeps" }).click();
      await expect.poll(() => page.locator(".parallel .run").count()).toBe(50);
      expect(await page.locator(".parallel .name").allTextContents()).toEqual(["embed logmodel.embed", "lr logtrain.optimizer.lr", "kindtrain.schedule.kind", "accuracy, validationaccuracy, validation", "accuracy, testaccuracy, test", "seconds logseconds"]);
      expect(await page.locator(".parallel .axis").nth(1).locator(".tick text").allTextContents()).toEqual(["1e-4", "1e-3", "1e-2"]);
      await expect.poll(() => page.locator(".parallel .run.failed").count()).toBe(2);
      await expect.poll(() => shown(page)).toBe("50 of 50 runs shown; 54 planned");
      // The table has the same runs: the best first, failed ones last, with the reason.
      await expect.poll(() => page.locator("table.sweep tbody tr").count()).toBe(50);
      const best = page.locator("table.sweep tbody tr").first();
      await expect.poll(() => best.locator("td").first().textContent()).toBe("128");
      await expect.poll(() => page.locator("table.sweep tbody tr").last().textContent()).toContain("loss is not finite after step 120");
      await shot(page, "sweeps");
    }));
  it("are filtered by dragging along axes, and the address keeps it", () =>
    withPage("#/runs?tab=sweeps", async ({ page }) => {
      await page.locator(".parallel .run").first().waitFor();
      await drag(page, 0, 0.8, 1);
      await expect.poll(() => shown(page)).toMatch(/^14 of 50 runs shown/);
      await drag(page, 3, 0.7, 1);
      await expect.poll(() => page.url()).toContain("range=0.");
      await expect.poll(() => page.url()).toContain(",3.");
      const left = await page.locator("table.sweep tbody tr").count();
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThan(14);
      for (const width of await page.locator("table.sweep tbody tr td:nth-child(2)").allTextContents()) expect(width).toBe("128");
      await expect.poll(() => page.locator(".parallel .run:not(.out)").count()).toBe(left);
      await shot(page, "sweeps-filtered");
      await page.reload();
      await expect.poll(() => page.locator("table.sweep tbody tr").count()).toBe(left);
      const { x, y } = await onAxis(page, 3, 0.2);
      await page.mouse.click(x, y);  // a click frees its axis
      await expect.poll(() => page.locator("table.sweep tbody tr").count()).toBeGreaterThan(left);
      await page.getByRole("button", { name: "Clear filters" }).click();
      await expect.poll(() => shown(page)).toMatch(/^50 of 50/);
      await expect.poll(() => page.url()).not.toContain("range=");
    }));
  it("are filtered with the arrow keys", () =>
    withPage("#/runs?tab=sweeps", async ({ page }) => {
      const low = page.getByRole("slider", { name: "train.optimizer.lr: lowest value kept" });
      await low.focus();
      await page.keyboard.press("ArrowUp");
      await expect.poll(() => low.getAttribute("aria-valuetext")).toBe("1e-3");
      await expect.poll(() => shown(page)).toMatch(/^32 of 50/);
      const high = page.getByRole("slider", { name: "train.optimizer.lr: highest value kept" });
      await high.focus();
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => high.getAttribute("aria-valuetext")).toBe("1e-3");
      await page.keyboard.press("ArrowDown");  // no further than the other handle
      await expect.poll(() => high.getAttribute("aria-valuetext")).toBe("1e-3");
      expect(new Set(await page.locator("table.sweep tbody tr td:nth-child(3)").allTextContents())).toEqual(new Set(["1e-3"]));
      await page.keyboard.press("End");
      await low.focus();
      await page.keyboard.press("Home");
      await expect.poll(() => shown(page)).toMatch(/^50 of 50/);
    }));
  it("light up a run under the pointer, in the plot and in the table", () =>
    withPage("#/runs?tab=sweeps", async ({ page }) => {
      const row = page.locator("table.sweep tbody tr").nth(1);
      await row.hover();
      await expect.poll(() => page.locator(".parallel .run.lit").count()).toBe(1);
      await expect.poll(() => page.locator(".reading").textContent()).toContain("model.embed 128, train.optimizer.lr 1e-3");
      await row.getByRole("button").click();
      await page.mouse.move(5, 5);
      await expect.poll(() => page.locator(".parallel .run.lit").count()).toBe(1);
      await expect.poll(() => page.url()).toContain("run=");
      const other = page.locator(".parallel .run.failed .near").first();
      await other.dispatchEvent("pointerenter");
      await expect.poll(() => page.locator(".reading").textContent()).toContain("loss is not finite after step 120");
    }));
  it("that have not begun say so, and so does a server without any", async () => {
    await withPage("#/runs?tab=sweeps&sweep=begun", async ({ page }) => {
      await page.getByText("None of its 3 runs has ended yet.").waitFor();
      await page.getByRole("combobox", { name: "Sweep" }).selectOption("widths");
      await page.locator(".parallel .run").first().waitFor();
    });
    await withPage("#/runs?tab=sweeps", async ({ page }) => {
      await page.getByText("There are no sweeps here.").waitFor();
    }, {}, { sweeps: false });
  });
  it.each(["light", "dark"] as const)("have no fault that axe finds, in Korean: %s", (colorScheme) =>
    withPage("#/runs?tab=sweeps&range=0.400.1000", async ({ page }) => {
      await page.getByText("성능이 좋은 순").waitFor();
      await page.locator(".parallel .run").first().waitFor();
      await expectNoFault(page);
      await shot(page, `sweeps-ko-${colorScheme}`);
    }, { locale: "ko-KR", colorScheme }));
  it("fit a phone", () =>
    withPage("#/runs?tab=sweeps", async ({ page }) => {
      await page.locator(".parallel .run").first().waitFor();
      await expectNoOverflow(page);
      await shot(page, "phone-sweeps");
    }, phone));
});
