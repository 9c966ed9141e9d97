// The page in front of `vitrine serve`, the program that $VITRINE names, with networks that it trained for a moment.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import en from "../../src/texts/en.json";
import ko from "../../src/texts/ko.json";
import { canvasHash, closeBrowser, expectNoOverflow, openPage, shot } from "../page/browser";

const program = process.env.VITRINE ?? "";

const kModels = {
  vit: "vit_c10_small, patch: 4, dim: 32, depth: 2, heads: 2, hidden: 64",
  swin: "swin_c10, patch: 2, dim: 12, depths: [2, 1], heads: [2, 3], window: 2",
  resnet: "resnet18, stem: cifar, blocks: [1, 1]",
};

/** Models of sequences: what they are, and what they learn from. */
const kSequences = {
  words: ["word_transformer, dim: 16, heads: 2, hidden: 32, layers: 2", "sentences"],
  adder: ["addition_transformer, embed: 8, layers: 2, hidden: 16", "addition"],
  text: ["sparse_c10_tiny, rows: 2, columns: 32, channels: 1, dim: 16, layers: 1, pattern: {kind: strided, stride: 8}", "{name: bytes, file: FILE, length: 64}"],
};

const sequenceRecipe = (name: string, model: string, dataset: string) => `name: ${name}
model: {name: ${model}}
data: {dataset: ${dataset}, batch: 100, validation: 0.1}
train: {epochs: 1, optimizer: {kind: adamw, lr: 1e-3}}
`;

const recipe = (name: string, model: string) => `name: ${name}
model: {name: ${model}, image: 16, classes: 4}
data:
  dataset: {name: synthetic, train: 64, test: 32, image: 16, classes: 4}
  batch: 16
  preprocess: {image: 16, resize: 20}
train: {epochs: 1, optimizer: {kind: adamw, lr: 1e-3}}
`;

/** Trains a network in `folder` and says where its run is. */
function trained(folder: string, name: string, text: string): string {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, text);
  const out = execFileSync(program, ["train", file, "--out", join(folder, "runs")], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  return out.trim();
}

/** Starts the server on a free port; resolves with its address, which it says on stderr. */
function started(server: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    let said = "";
    server.stderr!.on("data", (part) => {
      said += part;
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (address) done(address[0]);
    });
    server.on("exit", (code) => failed(new Error(`vitrine serve ended with ${code}: ${said}`)));
  });
}

/** Drops a PNG of 60 x 40 pixels on the page. */
const drop = (page: Page) =>
  page.evaluate(async () => {
    const canvas = new OffscreenCanvas(60, 40);
    const context = canvas.getContext("2d")!;
    context.fillStyle = "teal";
    context.fillRect(0, 0, 60, 40);
    context.fillStyle = "gold";
    context.fillRect(20, 10, 15, 20);
    const data = new DataTransfer();
    data.items.add(new File([await canvas.convertToBlob()], "square.png", { type: "image/png" }));
    window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
  });

describe.skipIf(!program)("vitrine serve", () => {
  const folder = mkdtempSync(join(tmpdir(), "vitrine-web-"));
  let server: ChildProcess;
  let address = "";

  beforeAll(async () => {
    const models = Object.entries(kModels).map(([name, model]) => `${name}=${trained(folder, name, recipe(name, model))}`);
    const letters = join(folder, "letters.txt");
    writeFileSync(letters, "Where does it look? 어디를 볼까요? ".repeat(400));
    for (const [name, [model, dataset]] of Object.entries(kSequences))
      models.push(`${name}=${trained(folder, name, sequenceRecipe(name, model!, dataset!.replace("FILE", letters)))}`);
    const sweep = join(folder, "sweep.yaml");
    writeFileSync(sweep, "name: rates\nrecipe: vit.yaml\nworkers: 2\ngrid: {train.optimizer.lr: [1e-4, 1e-2], model.depth: [1, 2]}\n");
    execFileSync(program, ["sweep", sweep, "--out", join(folder, "sweeps")], { stdio: "ignore" });
    server = spawn(program, ["serve", ...models, "--port", "0", "--quiet", "--runs", join(folder, "runs"), "--sweeps", join(folder, "sweeps")], { stdio: ["ignore", "ignore", "pipe"] });
    address = await started(server);
  }, 600000);

  afterAll(async () => {
    await closeBrowser();
    const ended = new Promise((done) => server.on("exit", done));
    server.kill("SIGTERM");
    expect(await ended).toBe(0);
    rmSync(folder, { recursive: true });
  });

  it.each(["en", "ko"] as const)("shows what a ViT sees in a dropped image: %s", (language) =>
    openPage(`${address}/#/explore?model=vit`, async ({ page }) => {
      const texts = { en, ko }[language];
      await expect.poll(() => page.locator("html").getAttribute("lang")).toBe(language);
      await page.locator("[data-head='1.1'] canvas").waitFor();
      await drop(page);
      await page.getByRole("article", { name: "vit, own-1" }).waitFor();
      await page.locator(".bars li").nth(3).waitFor();
      await page.locator("[data-head='1.1'] canvas").waitFor();
      const over = await canvasHash(page, ".patches");
      await page.getByRole("radio", { name: texts["map.none"] }).check();
      await expect.poll(() => canvasHash(page, ".patches")).not.toBe(over);
      await page.getByRole("radio", { name: texts["map.relevance"] }).check();
      await page.getByText(texts["explore.explained"].split("{")[0]!).waitFor();
      await expect.poll(() => page.locator(".lens tbody th").allTextContents()).toEqual([texts["lens.embedding"], "1", "2"]);
      await page.getByRole("radio", { name: texts["explore.click_switch"] }).check();
      await page.locator("[data-head='0.0']").click();
      await page.locator(".bars .change").first().waitFor();
      await expect.poll(() => page.locator(".notice.problem").count()).toBe(0);
      await expectNoOverflow(page);
      await shot(page, `serve-vit-${language}`);
    }, { locale: language }));

  it("shows attention in windows, and hides patches of its grid", () =>
    openPage(`${address}/#/explore?model=swin`, async ({ page }) => {
      await page.locator("[data-head='2.2'] canvas").waitFor();
      await expect.poll(() => page.locator(".thumb").count()).toBe(7);
      await page.locator(".lens tbody tr").nth(3).waitFor();
      await page.goto(`${address}/#/explore?model=swin&patches=63&heads=1.1,9.9`);  // 8 x 8 patches, no tenth layer
      await page.locator(".bars .change").first().waitFor();
      await expect.poll(() => page.locator(".notice.problem").count()).toBe(0);
      await shot(page, "serve-swin");
    }));

  it("says that a network has no attention", () =>
    openPage(`${address}/#/explore?model=resnet`, async ({ page }) => {
      await page.getByText("This model does not give its attention weights.").first().waitFor();
      await page.getByText("There is no logit lens for this network").waitFor();
      await page.getByRole("radio", { name: "Grad-CAM" }).check();
      await page.getByText("Explained class:").waitFor();
      await expect.poll(() => page.locator(".notice.problem").count()).toBe(0);
      await shot(page, "serve-resnet");
    }));

  it("shows query, key and value of a head", () =>
    openPage(`${address}/#/guided?model=vit&step=vectors`, async ({ page }) => {
      await page.locator(".vectors tbody tr").first().waitFor();
      await page.getByLabel("Scale the scores").uncheck();
      await expect.poll(() => page.locator(".notice.problem").count()).toBe(0);
      await shot(page, "serve-vectors");
    }));

  it.each(["en", "ko"] as const)("reads a sentence: %s", (language) =>
    openPage(`${address}/#/sequences?head=1&word=q2`, async ({ page }) => {
      const words = { en: ["start", "the", "cat", "sat"], ko: ["시작", "소년이", "공을", "가지고"] }[language];
      await expect.poll(async () => (await page.locator(".query .word").allTextContents()).slice(0, 4)).toEqual(words);
      await page.locator(".weights td.lit").first().waitFor();
      await expect.poll(() => page.locator(".bars li").count()).toBe(6);
      await shot(page, `serve-sentence-${language}`);
      await page.goto(`${address}/#/sequences?text=the+zebra`);
      await page.getByText("'zebra'").waitFor();
    }, { locale: language }));

  it("adds", () =>
    openPage(`${address}/#/sequences?tab=adder`, async ({ page }) => {
      await expect.poll(() => page.getByTestId("sum").textContent()).toMatch(/^57 \+ 68 = \d+$/);
      await expect.poll(() => page.locator(".digits tbody td").count()).toBe(30);
      await page.getByText(/the units give each other [\d.]+% of their attention/).waitFor();
      await shot(page, "serve-adder");
    }));

  it.each(["text", "words"])("generates: %s", (model) =>
    openPage(`${address}/#/sequences?tab=sampling&model=${model}&prompt=The&count=2`, async ({ page }) => {
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("Finished.").waitFor();
      const texts = await page.locator(".texts li").allTextContents();
      expect(texts).toHaveLength(2);
      for (const text of texts) expect(text.toLowerCase()).toMatch(/^the./s);
      await expect.poll(() => page.getByTestId("rate").textContent()).toMatch(model === "text" ? /^64 of 64 bytes/ : /^\d+ of 16 words/);
      await shot(page, `serve-${model}`);
    }));

  it("lists the runs", () =>
    openPage(`${address}/#/runs`, async ({ page }) => {
      await page.locator("table.runs tbody tr").nth(2).waitFor();
      const classifiers = page.locator("table.runs tbody tr", { hasText: "synthetic" });
      await expect.poll(() => classifiers.count()).toBe(3);
      for (const best of await classifiers.locator("td.best").allTextContents()) expect(best).toMatch(/^accuracy [\d.]+% /);
      await page.locator("table.runs input").first().check();
      await page.locator(".curves canvas").waitFor();
      await shot(page, "serve-runs");
    }));

  it("shows the test images behind a cell of the confusion matrix", () =>
    openPage(`${address}/#/runs?filter=vit`, async ({ page }) => {
      await page.locator("table.runs input").first().check();
      await page.locator(".cells").waitFor();
      // Four classes of eight test images each; the fullest cell of the first row is among them.
      await page.locator(".cells").focus();
      await page.keyboard.press("ArrowDown");
      let images = 0;
      for (let column = 0; column < 4; ++column) {
        const [, count] = /: (\d+) of 8 /.exec((await page.locator(".confusion .reading").textContent())!)!;
        await expect.poll(() => page.locator(".thumbnails img").count()).toBe(Number(count));
        images += Number(count);
        await shot(page, `serve-confusion-${column}`);
        await page.keyboard.press("ArrowRight");
        if (column < 3) await expect.poll(() => page.url()).toContain(`cell=0.${column + 1}`);
      }
      expect(images).toBe(8);
      await expect.poll(() => page.locator(".notice.problem").count()).toBe(0);
    }));

  it("shows a sweep", () =>
    openPage(`${address}/#/runs?tab=sweeps`, async ({ page }) => {
      await expect.poll(() => page.locator(".parallel .run").count()).toBe(4);
      await expect.poll(() => page.locator("table.sweep tbody tr").count()).toBe(4);
      for (const value of await page.locator("table.sweep tbody tr td:nth-child(4)").allTextContents()) expect(value).toMatch(/^[\d.]+%$/);
      await page.getByRole("slider", { name: "train.optimizer.lr: lowest value kept" }).focus();
      await page.keyboard.press("ArrowUp");
      await expect.poll(() => page.locator("table.sweep tbody tr").count()).toBe(2);
      await shot(page, "serve-sweep");
    }));
});
