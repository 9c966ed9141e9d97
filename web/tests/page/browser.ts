// A browser and the synthetic server for the tests of the page.
import { existsSync, mkdirSync } from "node:fs";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { expect } from "vitest";
import { startMock } from "../mock/server.mjs";

type Mock = Awaited<ReturnType<typeof startMock>>;

export interface Opened {
  page: Page;
  mock: Mock;
}

const kChromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
let browser: Browser | undefined;

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

/** Opens an address, gives the page to `use`, and checks that it did not complain. */
export async function openPage(
  address: string,
  use: (opened: { page: Page }) => Promise<void>,
  context: BrowserContextOptions = {},
): Promise<void> {
  if (!existsSync(kChromium)) throw new Error(`no browser at ${kChromium}: apt-get install chromium, or set CHROMIUM`);
  browser ??= await chromium.launch({ executablePath: kChromium, timeout: 120000, args: ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"] });
  const opened = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 900 }, ...context });
  const page = await opened.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) complaints.push(message.text());
  });
  page.setDefaultTimeout(60000);
  try {
    await page.goto(address);
    await use({ page });
    expect(complaints).toEqual([]);
  } finally {
    await opened.close();
  }
}

/** Opens the page at a hash in front of the synthetic server. */
export async function withPage(
  hash: string,
  use: (opened: Opened) => Promise<void>,
  context: BrowserContextOptions = {},
  options: Partial<Mock["options"]> = {},
): Promise<void> {
  const mock = await startMock(options);
  try {
    await openPage(`${mock.address}/${hash}`, ({ page }) => use({ page, mock }), context);
  } finally {
    await mock.close();
  }
}

/** A screenshot for people to look at, where $SHOTS names a folder. */
export async function shot(page: Page, name: string): Promise<void> {
  if (!process.env.SHOTS) return;
  mkdirSync(process.env.SHOTS, { recursive: true });
  await page.screenshot({ path: `${process.env.SHOTS}/${name}.png`, fullPage: true });
}

/** Nothing sticks out of the window. */
export async function expectNoOverflow(page: Page): Promise<void> {
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
}

/** The pixels of a canvas in one number. */
export function canvasHash(page: Page, selector: string): Promise<number> {
  return page.locator(selector).first().evaluate((element) => {
    const canvas = element as HTMLCanvasElement;
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    let h = 7;
    for (const byte of data) h = (Math.imul(h, 31) + byte) | 0;
    return h;
  });
}
