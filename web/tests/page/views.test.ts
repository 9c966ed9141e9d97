import axe from "axe-core";
import { afterAll, describe, expect, it } from "vitest";
import { canvasHash, closeBrowser, expectNoOverflow, shot, withPage } from "./browser";

afterAll(closeBrowser);

describe("how it works", () => {
  it("walks from patches to logits with the numbers of the image", () =>
    withPage("#/guided", async ({ page }) => {
      await page.getByText("14 × 14 = 196 cells of 16 × 16 pixels, 768 numbers each").waitFor();
      await page.getByText("197 tokens enter the first layer").waitFor();
      const next = page.getByRole("button", { name: "Next" });
      await page.getByRole("button", { name: "A query meets the keys" }).waitFor();
      await next.click();
      await expect.poll(() => page.url()).toContain("step=vectors");
      await next.click();
      await page.getByText("In layer 12 each token").waitFor();
      await expect.poll(() => page.getByTestId("sum").textContent()).toMatch(/^(99|100)\.\d%$/);
      const before = await page.locator(".softmax tbody").textContent();
      await page.locator(".patches").click({ position: { x: 8, y: 8 } });
      await expect.poll(() => page.locator(".softmax tbody").textContent()).not.toBe(before);
      await shot(page, "guided-softmax");
      await next.click();
      await expect.poll(() => page.locator(".gallery .tile").count()).toBe(12);
      await next.click();
      await page.getByText("12 layers in all").waitFor();
      await next.click();
      await page.locator(".lens tbody tr").nth(12).waitFor();
      await next.click();
      await page.getByText("the other 5 classes").waitFor();
      await expect.poll(() => next.isDisabled()).toBe(true);
      await expect.poll(() => page.url()).toContain("step=logits");
      await shot(page, "guided-logits");
    }));
  it("multiplies a query with a key, and scales", () =>
    withPage("#/guided?step=vectors&layer=3&head=1", async ({ page, mock }) => {
      await page.locator(".vectors tbody tr").first().waitFor();
      // The middle of 14 x 14 patches, behind the class token.
      expect(mock.asked).toContain("POST /v1/head?model=vit_mock&layer=3&head=1&query=106");
      const column = (n: number) => page.locator(".vectors tbody tr").first().locator("td").nth(n).textContent();
      const [product, scaled, weight] = [Number(await column(0)), Number(await column(1)), await column(2)];
      expect(scaled).toBeCloseTo(product / Math.sqrt(32), 1);
      await shot(page, "guided-vectors");
      await page.getByLabel("Scale the scores").uncheck();
      await expect.poll(() => column(1)).toBe(await column(0));
      await expect.poll(() => column(2)).not.toBe(weight);
      await page.locator(".vectors th button").nth(2).click();
      await expect.poll(() => page.locator(".vectors th button").nth(2).getAttribute("aria-pressed")).toBe("true");
      const asked = mock.asked.length;
      await page.locator(".patches").click({ position: { x: 8, y: 8 } });
      await expect.poll(() => mock.asked.slice(asked).join()).toContain("query=1");
    }));
  it("leaves the vectors out where there are none", () =>
    withPage("#/guided?step=vectors", async ({ page }) => {
      await page.getByText("This network gives no queries, keys and values here").waitFor();
      await expect.poll(() => page.locator(".steps button").count()).toBe(6);
      await expect.poll(() => page.locator(".steps button[aria-current]").textContent()).toBe("Patches become tokens");
    }, {}, { missing: ["/v1/head"] }));
});

describe("sequences", () => {
  it("show the mask of a pattern and its cost", () =>
    withPage("#/sequences?tab=patterns&kind=local&stride=2&n=10", async ({ page }) => {
      await expect.poll(() => page.getByTestId("cost").textContent()).toContain("27 of 55 pairs");
      const local = await canvasHash(page, ".mask canvas");
      await page.getByRole("slider", { name: "Window" }).fill("4");
      await expect.poll(() => canvasHash(page, ".mask canvas")).not.toBe(local);
      await expect.poll(() => page.url()).toContain("stride=4");
      await page.getByRole("radio", { name: "Dense" }).check();
      await expect.poll(() => page.getByTestId("cost").textContent()).toContain("100.0%");
      await page.getByLabel("Causal").uncheck();
      await expect.poll(() => page.getByTestId("cost").textContent()).toContain("100 of 100 pairs");
    }));
  it("say what a query attends to, by keyboard too", () =>
    withPage("#/sequences?tab=patterns&kind=strided&stride=3&n=12&factor=second", async ({ page }) => {
      await page.getByText("Query 9 attends to 4 keys: 0, 3, 6, 9.").waitFor();
      await page.locator(".mask canvas").focus();
      await page.keyboard.press("ArrowUp");
      await page.getByText("Query 8 attends to 3 keys: 2, 5, 8.").waitFor();
      await shot(page, "sequences");
    }));
  it("refuse summaries that do not fit", () =>
    withPage("#/sequences?tab=patterns&kind=fixed&stride=4&summary=3&offset=1", async ({ page }) => {
      await page.getByText("2 summaries of 3 tokens do not fit a block of 4").waitFor();
      await page.getByRole("slider", { name: "Offset" }).fill("0");
      await page.getByTestId("cost").waitFor();
    }));
});

describe("runs", () => {
  it("are listed, filtered and compared", () =>
    withPage("#/runs", async ({ page }) => {
      const cell = (name: string, kind: string) => page.locator("table.runs tbody tr", { hasText: name }).locator(`td.${kind}`);
      await expect.poll(() => cell("vit-baseline", "best").textContent()).toMatch(/^accuracy \d\d\.\d\d% validation, \d\d\.\d\d% test$/);
      await expect.poll(() => cell("probe", "number").textContent()).toBe("–");
      expect(await page.locator(".scroll").first().evaluate((e) => e.scrollWidth - e.clientWidth)).toBeLessThanOrEqual(0);
      await page.getByLabel("vit-baseline").check();
      await page.locator(".curves canvas").waitFor();
      await page.getByText("Choose a second run to compare recipes.").waitFor();
      await page.getByLabel("vit-low-lr").check();
      await page.locator(".diff ins", { hasText: "lr: 0.0003" }).waitFor();
      await expect.poll(() => page.locator(".diff del", { hasText: "lr: 0.001" }).count()).toBe(1);
      await expect.poll(() => page.locator(".diff").textContent()).not.toContain("hidden: 768");
      await page.getByLabel("Whole recipe").check();
      await expect.poll(() => page.locator(".diff").textContent()).toContain("hidden: 768");
      await page.getByText("cat taken for dog: 8.8%").waitFor();
      await expect.poll(() => page.locator(".results tbody tr", { hasText: "test.accuracy" }).locator("td").count()).toBe(2);
      const drawn = await canvasHash(page, ".curves canvas");
      await page.getByLabel("Metric").selectOption("step/loss");
      await page.getByLabel("Logarithmic").check();
      await expect.poll(() => canvasHash(page, ".curves canvas")).not.toBe(drawn);
      await shot(page, "runs");
      await page.getByRole("searchbox").fill("baseline");
      await expect.poll(() => page.locator("table.runs tbody tr").count()).toBe(1);
      await expect.poll(() => page.url()).toContain("filter=baseline");
    }));
  it("refresh themselves", () =>
    withPage("#/runs?runs=vit-shallow&metric=step/loss", async ({ page, mock }) => {
      await page.locator(".curves canvas").waitFor();
      const drawn = await canvasHash(page, ".curves canvas");
      const asked = mock.asked.length;
      await expect.poll(() => mock.asked.slice(asked)).toContain("GET /v1/runs/vit-shallow/metrics");
      await expect.poll(() => canvasHash(page, ".curves canvas")).not.toBe(drawn);
    }));
  it("say when the server has none", () =>
    withPage("#/runs", async ({ page }) => {
      await page.getByText("started without a folder of runs").waitFor();
    }, {}, { missing: ["/v1/runs"] }));
});

describe("the page", () => {
  const views = { explore: "어디를 보고 있을까요?", guided: "패치에서 예측까지", sequences: "시퀀스", runs: "학습 기록" };
  it("speaks Korean in every view and remembers it", () =>
    withPage("#/explore", async ({ page }) => {
      await page.getByRole("button", { name: "한국어" }).click();
      await expect.poll(() => page.locator("html").getAttribute("lang")).toBe("ko");
      await page.reload();
      for (const [view, title] of Object.entries(views)) {
        await page.goto(page.url().replace(/#.*/, `#/${view}`));
        await page.getByRole("heading", { level: 1, name: title }).waitFor();
      }
      await page.getByRole("button", { name: "English" }).click();
      await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
    }));
  it("starts in the language of the browser", () =>
    withPage("#/explore", async ({ page }) => {
      await page.getByRole("heading", { level: 1, name: views.explore }).waitFor();
      await page.locator("[data-head='11.11']").waitFor();
      await shot(page, "explore-ko");
    }, { locale: "ko-KR" }));
  it("is dark where the system is, until the switch says otherwise", () =>
    withPage("#/runs?runs=vit-baseline,vit-low-lr", async ({ page }) => {
      await page.locator(".curves canvas").waitFor();
      const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const dark = await paper();
      const axis = await canvasHash(page, ".curves canvas");
      await shot(page, "runs-dark");
      await page.getByRole("button", { name: "Light" }).click();
      await expect.poll(paper).not.toBe(dark);
      await expect.poll(() => canvasHash(page, ".curves canvas")).not.toBe(axis);
      await page.reload();
      await expect.poll(paper).not.toBe(dark);
    }, { colorScheme: "dark" }));
  it.each(["explore", "explore?model2=cct_mock", "guided?step=vectors", "guided?step=softmax", "sequences?tab=sentence", "sequences?tab=adder", "sequences?tab=patterns", "sequences?tab=sampling&model=sparse_mock&mode=complete", "runs?runs=vit-baseline,vit-low-lr"])("fits a phone: %s", (hash) =>
    withPage(`#/${hash}`, async ({ page }) => {
      await page.locator(hash.includes("sampling") ? ".sample img" : "canvas").first().waitFor();
      await page.waitForTimeout(1500);
      await expectNoOverflow(page);
      await shot(page, `phone-${hash.replace(/[?&,=]/g, "-")}`);
    }, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }));
  it.each(["explore?heads=1.1", "guided?step=vectors", "guided?step=softmax", "sequences?word=q3", "sequences?tab=adder&a=13", "sequences?tab=patterns", "sequences?tab=sampling&model=sparse_mock&mode=complete", "runs?runs=vit-baseline,vit-low-lr"])("has no fault that axe finds, light and dark: %s", async (hash) => {
    for (const colorScheme of ["light", "dark"] as const)
      await withPage(`#/${hash}`, async ({ page }) => {
        await page.locator(hash.includes("sampling") ? ".sample img" : hash.includes("vectors") ? ".vectors table" : "canvas").last().waitFor();
        await page.evaluate(axe.source);
        const { violations, passes } = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
        expect(passes.length).toBeGreaterThan(10);
        expect(violations.map((v) => `${v.id}: ${v.nodes[0]!.html}`)).toEqual([]);
      }, { colorScheme });
  });
  it("paints after less than 300 KB", () =>
    withPage("about:blank", async ({ page, mock }) => {
      await page.goto(mock.address, { waitUntil: "load" });
      await page.getByRole("heading", { level: 1 }).waitFor();
      const bytes = await page.evaluate(() => {
        const loaded = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
        return loaded.filter((entry) => !entry.name.includes("/v1/")).reduce((sum, entry) => sum + entry.decodedBodySize, 0);
      });
      expect(bytes).toBeGreaterThan(50_000);
      expect(bytes).toBeLessThan(300_000);
    }));
  it("loads nothing from elsewhere", () =>
    withPage("about:blank", async ({ page, mock }) => {
      const elsewhere: string[] = [];
      page.on("request", (r) => {
        if (!r.url().startsWith(mock.address) && !r.url().startsWith("blob:")) elsewhere.push(r.url());
      });
      for (const view of Object.keys(views)) {
        await page.goto(`${mock.address}/#/${view}`);
        await page.waitForTimeout(700);
      }
      expect(elsewhere).toEqual([]);
    }));
});

describe("errors", () => {
  it.each(["explore", "guided"])("a server without a classifier is said to have none: %s", (view) =>
    withPage(`#/${view}`, async ({ page }) => {
      await page.getByText("The server has no image classifier loaded.").waitFor();
    }, {}, { kinds: ["generator", "adder"] }));
  it("401 asks for a token, which stays in the session", () =>
    withPage("#/explore", async ({ page }) => {
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Access token").fill("wrong");
      await dialog.getByRole("button", { name: "Use token" }).click();
      await page.getByText("The server refuses the access token.").first().waitFor();
      await page.getByRole("dialog").getByLabel("Access token").fill("secret");
      await page.keyboard.press("Enter");
      await page.locator(".bars li").first().waitFor();
      await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
      await page.reload();
      await page.locator(".bars li").first().waitFor();
      expect(await page.evaluate(() => [localStorage.length, Object.values(sessionStorage)])).toEqual([0, ["secret"]]);
    }, {}, { token: "secret" }));
  it("503 is said and asked again after the time that the server gives", () =>
    withPage("#/explore", async ({ page, mock }) => {
      await page.getByText("The server is busy; asked again in 1 s.").waitFor();
      mock.options.silent = false;
      await page.locator(".bars li").first().waitFor();
      expect(mock.options.busy).toBe(0);
    }, {}, { busy: 2, silent: true }));
  it("a file that is no image is refused by name", () =>
    withPage("#/explore", async ({ page }) => {
      await page.locator("input[type=file]").setInputFiles({ name: "note.png", mimeType: "image/png", buffer: Buffer.from("not an image") });
      await page.getByText("note.png cannot be read as an image. Try a JPEG, PNG or WebP file.").waitFor();
      await shot(page, "broken");
    }));
  it("what the server refuses is shown in its words", () =>
    withPage("#/explore", async ({ page }) => {
      await page.locator("[data-head='11.11']").waitFor();
      await page.route("**/v1/classify*", (route) => route.fulfill({ status: 400, json: { error: "image: 3 bytes are no JPEG" } }));
      await page.getByRole("button", { name: "Drawing: cat" }).click();
      await page.getByText("The server answers: image: 3 bytes are no JPEG").waitFor();
    }));
  it("a server that is gone is named", () =>
    withPage("#/explore", async ({ page }) => {
      await page.locator("[data-head='11.11']").waitFor();
      await page.route("**/v1/**", (route) => route.abort());
      await page.getByRole("button", { name: "Drawing: bird" }).click();
      await page.getByText("The server does not answer.").first().waitFor();
    }));
});
