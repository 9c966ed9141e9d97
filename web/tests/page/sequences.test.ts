import { afterAll, describe, expect, it } from "vitest";
import ko from "../../src/texts/ko.json";
import { closeBrowser, expectNoOverflow, shot, withPage } from "./browser";

afterAll(closeBrowser);

describe("the tabs", () => {
  it("are in the address and follow the arrow keys", () =>
    withPage("#/sequences", async ({ page }) => {
      const selected = () => page.locator("[role=tab][aria-selected=true]").textContent();
      await expect.poll(selected).toBe("A sentence");
      await page.getByRole("tab", { name: "A sentence" }).focus();
      await page.keyboard.press("ArrowRight");
      await expect.poll(selected).toBe("The adder");
      await expect.poll(() => page.url()).toContain("tab=adder");
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("ArrowLeft");
      await expect.poll(selected).toBe("Sampling");
      await page.getByRole("tab", { name: "Attention patterns" }).click();
      await page.locator(".mask canvas").waitFor();
      await page.reload();
      await expect.poll(selected).toBe("Attention patterns");
    }));
  it.each([
    ["sentence", "word-transformer"],
    ["adder", "addition-transformer"],
    ["sampling", "sparse-tiny"],
  ])("say how to serve what they need: %s", (tab, recipe) =>
    withPage(`#/sequences?tab=${tab}`, async ({ page }) => {
      await expect.poll(() => page.locator(".needs code").textContent()).toBe(`vitrine train recipes/${recipe}.yaml\nvitrine serve RUN`);
      await expectNoOverflow(page);
      await shot(page, `sequences-${tab}-none`);
    }, {}, { kinds: ["classifier"] }));
});

describe("a sentence", () => {
  it("is shown as lines and as a matrix, head by head", () =>
    withPage("#/sequences?text=The+cat+sat+on+the+mat", async ({ page }) => {
      await expect.poll(() => page.locator(".query .word").allTextContents()).toEqual(["start", "the", "cat", "sat", "on", "the", "mat"]);
      await expect.poll(() => page.locator(".weights tbody td:not(.none)").count()).toBe(28);  // causal
      await expect.poll(() => page.locator(".thumb").count()).toBe(8);
      const lines = () => page.locator(".headlines path").count();
      const all = await lines();
      await shot(page, "sequences-sentence-all");
      await page.getByRole("radio", { name: "2", exact: true }).last().check();
      await expect.poll(() => page.url()).toContain("head=1");
      await expect.poll(lines).toBeLessThan(all);
      const one = await lines();
      await page.locator("[data-word=q3]").hover();
      await page.getByText(/Layer 2, head 2: “sat” looks most at “\w+” \([\d.]+%\)/).waitFor();
      await expect.poll(lines).toBeLessThan(one);
      await expect.poll(() => page.locator(".key .word em").allTextContents()).toContain("0%");
      await shot(page, "sequences-sentence");
      await page.locator("[data-word=k1]").click();
      await page.mouse.move(0, 0);
      await expect.poll(() => page.url()).toContain("word=k1");
      await page.getByText(/“the” is looked at most by/).waitFor();
      await page.locator(".thumb").first().click();
      await page.getByText(/Layer 1, head 1: “the” is looked at most by/).waitFor();
      await expect.poll(() => page.url()).toContain("layer=0");
      await expectNoOverflow(page);
    }));
  it("is read with the keyboard", () =>
    withPage("#/sequences", async ({ page }) => {
      await page.locator("[data-word=q0]").focus();
      await page.keyboard.press("ArrowDown");
      await page.getByText(/mean of heads: “the” looks most at/).waitFor();
      await page.keyboard.press("ArrowRight");
      await page.getByText(/“the” is looked at most by/).waitFor();
      await expect.poll(() => page.locator(":focus").getAttribute("data-word")).toBe("k1");
      await page.keyboard.press("Escape");
      await page.getByText("Point at a token, or choose one").waitFor();
    }));
  it("grows by the word that is chosen, and names words that are not known", () =>
    withPage("#/sequences?text=the+dog", async ({ page }) => {
      await expect.poll(() => page.locator(".bars li").count()).toBe(6);
      const word = page.locator(".bars button").first();
      const label = await word.locator(".label").textContent();
      await word.click();
      await expect.poll(() => page.getByLabel("Sentence", { exact: true }).inputValue()).toMatch(new RegExp(`^the dog ?${label!.replace(".", "\\.")}$`));
      await expect.poll(() => page.locator(".query .word").count()).toBe(4);
      await page.getByLabel("Sentence", { exact: true }).fill("the zebra");
      await page.keyboard.press("Enter");
      await page.getByText("The server answers: text: the word 'zebra' is not known").waitFor();
      await page.getByText("words that the model knows").click();
      await page.getByText("chair · roof").waitFor();
    }));
  it("may be Korean", () =>
    withPage("#/sequences", async ({ page }) => {
      await expect.poll(() => page.locator(".query .word").allTextContents()).toEqual(["시작", "소년이", "공을", "가지고"]);
      await page.getByRole("heading", { name: ko["sentence.next"] }).waitFor();
      await page.locator("[data-word=q2]").hover();
      await shot(page, "sequences-sentence-ko");
    }, { locale: "ko-KR", colorScheme: "dark" }));
});

describe("the adder", () => {
  it("adds, and explains the carry", () =>
    withPage("#/sequences?tab=adder", async ({ page }) => {
      await expect.poll(() => page.getByTestId("sum").textContent()).toBe("57 + 68 = 125");
      await page.getByText("right", { exact: true }).waitFor();
      await page.getByText("Units: 7 + 8 = 15, so 5 is written and 1 is carried.").waitFor();
      await page.getByText("Tens: 5 + 6 + 1 carried = 12, so 2").waitFor();
      await page.getByText(/the units give each other [\d.]+% of their attention/).waitFor();
      await expect.poll(() => page.locator(".digits tbody td").count()).toBe(30);
      await shot(page, "sequences-adder");
      await page.getByLabel("First number").fill("12");
      await page.getByLabel("Second number").fill("30");
      await expect.poll(() => page.getByTestId("sum").textContent()).toBe("12 + 30 = 42");
      await page.getByText("Units: 2 + 0 = 2, no carry.").waitFor();
      await expect.poll(() => page.url()).toContain("a=12&b=30");
      await page.getByLabel("First number").fill("100");  // out of bounds: nothing changes
      await page.getByLabel("Second number").focus();
      await expect.poll(() => page.getByLabel("First number").inputValue()).toBe("12");
      await page.getByRole("button", { name: "Random numbers" }).click();
      await page.locator("[data-word=q0]").waitFor();
      await expectNoOverflow(page);
    }));
  it("shows a wrong answer as one", () =>
    withPage("#/sequences?tab=adder&a=13&b=9", async ({ page }) => {
      await page.getByText("wrong: it is 22").waitFor();
      await expect.poll(() => page.locator(".written .wrong").count()).toBe(1);
      await page.getByLabel("Model").selectOption("adder_cnn_mock");
      await page.getByText("This network has no attention").waitFor();
      await expect.poll(() => page.locator(".headlines").count()).toBe(0);
    }));
});

describe("sampling", () => {
  it("fills images as their bytes come", () =>
    withPage("#/sequences?tab=sampling&model=sparse_mock", async ({ page, mock }) => {
      await page.getByRole("slider", { name: "How many" }).fill("3");
      await page.getByRole("slider", { name: "Temperature" }).fill("90");
      await page.getByRole("slider", { name: "Top-k" }).fill("40");
      await page.getByLabel("Seed").fill("7");
      await page.getByRole("button", { name: "Generate" }).click();
      await expect.poll(() => page.locator(".generated canvas").count()).toBe(3);
      await expect.poll(() => page.getByTestId("rate").textContent()).toContain("1,152 of 3,072 bytes");
      const rows = () =>
        page.locator(".generated canvas").first().evaluate((canvas) => {
          const { data } = (canvas as HTMLCanvasElement).getContext("2d")!.getImageData(0, 0, 32, 32);
          return data.filter((_, i) => i % 4 === 3).reduce((sum, alpha) => sum + alpha / 255, 0) / 32;
        });
      expect(await rows()).toBe(12);
      await shot(page, "sequences-sampling-half");
      mock.options.hold = Infinity;
      await page.getByText("Finished.").waitFor();
      expect(await rows()).toBe(32);
      await expect.poll(() => page.getByTestId("rate").textContent()).toBe("3,072 of 3,072 bytes of each; 6,144 bytes/s in all");
      await expect.poll(() => page.url()).toContain("count=3&temperature=90&top=40&seed=7");
      expect(mock.bodies.at(-1)).toEqual({ model: "sparse_mock", count: 3, temperature: 0.9, top_k: 40, seed: 7 });
      await expectNoOverflow(page);
      await shot(page, "sequences-sampling");
    }, {}, { hold: 13 }));
  it("can be stopped, and leaving stops it", () =>
    withPage("#/sequences?tab=sampling&model=igpt_mock", async ({ page, mock }) => {
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("Generating …").waitFor();
      await expect.poll(async () => Number(await page.locator(".status progress").getAttribute("value"))).toBeGreaterThan(0);
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Stopped.").waitFor();
      await expect.poll(() => mock.streams).toBe(0);
      await page.getByRole("button", { name: "Generate" }).click();
      await expect.poll(() => mock.streams).toBe(1);
      await page.getByRole("tab", { name: "The adder" }).click();
      await expect.poll(() => mock.streams).toBe(0);
    }, {}, { hold: 4 }));
  it("completes an image whose upper rows are kept", () =>
    withPage("#/sequences?tab=sampling&model=sparse_mock&mode=complete&count=2", async ({ page, mock }) => {
      await page.getByRole("button", { name: "Drawing: cat" }).click();
      await page.getByRole("slider", { name: "Rows that are kept" }).fill("25");
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("Finished.").waitFor();
      expect(mock.asked.at(-1)).toBe("POST /v1/complete?model=sparse_mock&count=2&temperature=1&top_k=0&seed=1&keep=0.25");
      const upper = (i: number) =>
        page.locator(".generated canvas").nth(i).evaluate((canvas) => [...(canvas as HTMLCanvasElement).getContext("2d")!.getImageData(0, 0, 32, 8).data].join());
      expect(await upper(0)).toBe(await upper(1));
      await shot(page, "sequences-complete");
    }));
  it.each([["text_mock", "Once upon"], ["words_mock", "the dog"]])("lets a text grow: %s", (model, begin) =>
    withPage(`#/sequences?tab=sampling&model=${model}&count=2&seed=3`, async ({ page, mock }) => {
      await page.getByLabel("How the text begins").fill(begin);
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("Finished.").waitFor();
      expect(mock.bodies.at(-1)).toMatchObject({ model, text: begin });
      const texts = await page.locator(".texts li").allTextContents();
      expect(texts).toHaveLength(2);
      expect(texts[0]!.startsWith(begin)).toBe(true);
      expect(texts[0]!.length).toBeGreaterThan(begin.length + 10);
      expect(texts[0]).not.toBe(texts[1]);
      await shot(page, `sequences-${model}`);
    }));
  it("says what goes wrong", () =>
    withPage("#/sequences?tab=sampling&model=sparse_mock", async ({ page, mock }) => {
      const answer = (body: string) => page.route("**/v1/sample", (route) => route.fulfill({ contentType: "text/event-stream", body }), { times: 1 });
      const start = 'event: start\ndata: {"model": "m", "unit": "bytes", "count": 1, "total": 3072, "kept": 0, "image": {"width": 32, "height": 32, "channels": 3}}\n\n';
      await answer(start + 'event: error\ndata: {"error": "sample: the server is going down"}\n\n');
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("The server answers: sample: the server is going down").waitFor();
      await answer(start);
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("The server does not answer.").waitFor();
      Object.assign(mock.options, { busy: 1, silent: true });
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("The server is busy; asked again in 1 s.").waitFor();
      mock.options.silent = false;
      await page.getByText("Finished.").waitFor();
    }));
  it("speaks Korean", () =>
    withPage("#/sequences?tab=sampling&model=igpt_mock&mode=complete", async ({ page }) => {
      await page.getByRole("button", { name: ko["sampling.start"] }).click();
      await page.getByText(ko["phase.finished"]).waitFor();
      await shot(page, "sequences-sampling-ko");
    }, { locale: "ko-KR", colorScheme: "dark" }));
});
