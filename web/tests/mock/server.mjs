// A small server with the routes of the contract and synthetic data, for the tests of the page.
// `options` may be changed while it runs: token, busy (how many requests get a 503), silent (requests behind those wait
// until it is false), missing (routes that are not there), kinds (of models that are served), sweeps and images (whether
// there are sweeps, and images of test sets), hold (how many events of a generation are sent until it is raised),
// megabytes (how many of the attention weights are sent until it is raised).

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import * as network from "./network.mjs";
import { makeRuns } from "./runs.mjs";
import * as sequences from "./sequences.mjs";
import * as sweeps from "./sweeps.mjs";
import * as tested from "./tested.mjs";

const kDist = fileURLToPath(new URL("../../dist/", import.meta.url));
const kTypes = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

class Refusal extends Error {
  constructor(status, text, headers = {}) {
    super(text);
    Object.assign(this, { status, headers });
  }
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

function checkImage(bytes) {
  const start = bytes.subarray(0, 4).toString("latin1");
  if (!["\x89PNG", "\xff\xd8\xff\xe0", "RIFF"].includes(start))
    throw new Refusal(400, `image: ${bytes.length} bytes are no JPEG, PNG or WebP`);
  return bytes;
}

/** The fields of a multipart body. */
async function formOf(request, body) {
  const response = new Response(body, { headers: { "content-type": request.headers["content-type"] } });
  const form = await response.formData();
  return { image: Buffer.from(await form.get("image").arrayBuffer()), off: JSON.parse(form.get("switch")) };
}

const rest = () => new Promise((done) => setTimeout(done, 4));

/** Writes the events of a generation until the client goes away. */
async function stream(response, events, options) {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  let sent = 0;
  for (const [event, data] of events) {
    while (sent >= options.hold && !response.destroyed) await rest();
    if (response.destroyed) return;
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    ++sent;
    await rest();
  }
  response.end();
}

/** Writes an answer a megabyte at a time. */
async function trickle(response, bytes, options) {
  response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": bytes.length });
  for (let n = 0; n * 1e6 < bytes.length; ++n) {
    while (n >= options.megabytes && !response.destroyed) await rest();
    if (response.destroyed) return;
    response.write(bytes.subarray(n * 1e6, (n + 1) * 1e6));
  }
  response.end();
}

/** @typedef {{ token: string, busy: number, silent: boolean, missing: string[], kinds: string[], sweeps: boolean, images: boolean, hold: number, megabytes: number }} Options */

/** @param {Partial<Options> & { port?: number }} given */
export async function startMock({ port = 0, ...given } = {}) {
  /** @type {Options} */
  const options = { token: "", busy: 0, silent: false, missing: [], kinds: ["classifier", "generator", "adder"], sweeps: true, images: true, hold: Infinity, megabytes: Infinity, ...given };
  const runs = makeRuns();
  /** @type {string[]} */
  const asked = [];
  /** What was asked for as JSON. @type {Record<string, unknown>[]} */
  const bodies = [];
  /** The images that were to be classified. @type {Buffer[]} */
  const classified = [];
  /** @type {{ model: string, patches: number[], grid: number[] }[]} */
  const switches = [];

  /** `streams`: generations under way. */
  const mock = { options, asked, bodies, classified, switches, streams: 0 };

  async function api(request, url) {
    if (options.token && request.headers.authorization !== `Bearer ${options.token}`)
      throw new Refusal(401, "this server needs a bearer token");
    if (options.missing.some((route) => url.pathname === route)) throw new Refusal(404, `no route ${url.pathname}`);
    if (options.busy > 0) {
      --options.busy;
      throw new Refusal(503, "the queue is full", { "Retry-After": "1" });
    }
    while (options.silent && !request.socket.destroyed) await rest();
    const run = /^\/v1\/runs\/([^/]+)\/(metrics|recipe|result)$/.exec(url.pathname);
    if (run) {
      const folder = runs.folders[decodeURIComponent(run[1])];
      if (!folder) throw new Refusal(404, `no run ${run[1]}`);
      if (run[2] === "recipe") return { text: folder.recipe };
      const data = folder[run[2]]();
      if (!data) throw new Refusal(404, `run ${run[1]} has no ${run[2]} yet`);
      return { json: data };
    }
    const test = /^\/v1\/runs\/([^/]+)\/(confusion|predictions|images\/(\d+))$/.exec(url.pathname);
    if (test) {
      if (!runs.folders[decodeURIComponent(test[1])]?.tested) throw new Refusal(404, `run ${test[1]} has no predictions.json`);
      if (test[2] === "confusion") return { json: tested.confusion() };
      if (test[2] === "predictions") {
        const [truth, guess, limit] = ["true", "predicted", "limit"].map((key) => Number(url.searchParams.get(key)));
        return { json: tested.cell(truth, guess, limit) };
      }
      if (!options.images) throw new Refusal(409, "cifar10: data/cifar10/test_batch.bin is missing; run `vitrine data fetch cifar10`");
      return { bytes: tested.image(Number(test[3])), type: "image/png" };
    }
    if (url.pathname === "/v1/sweeps") return { json: { sweeps: options.sweeps ? sweeps.list() : [] } };
    const sweep = /^\/v1\/sweeps\/([^/]+)$/.exec(url.pathname);
    if (sweep) {
      const data = sweeps.sweeps[decodeURIComponent(sweep[1])];
      if (!data) throw new Refusal(404, `no sweep ${sweep[1]}`);
      return { json: data };
    }
    if (url.pathname === "/v1/models") {
      const all = [...network.models(), ...sequences.models()];
      return { json: { models: all.filter((m) => options.kinds.includes(m.kind)) } };
    }
    if (url.pathname === "/v1/runs") return { json: { runs: runs.list() } };
    if (request.method !== "POST") throw new Refusal(404, `no route ${url.pathname}`);
    const body = await bodyOf(request);
    const asJson = () => {
      bodies.push(JSON.parse(body.toString()));
      return bodies.at(-1);
    };
    const parameters = Object.fromEntries(url.searchParams);
    switch (url.pathname) {
      case "/v1/sentence":
        return { json: sequences.sentence(asJson(), Refusal) };
      case "/v1/add":
        return { json: sequences.add(asJson()) };
      case "/v1/sample":
        return { events: sequences.generate(asJson()) };
      case "/v1/complete":
        return { events: sequences.generate({ ...parameters, count: Number(parameters.count) }, checkImage(body), Number(parameters.keep)) };
    }
    const name = url.searchParams.get("model");
    if (!network.kNetworks[name]) throw new Refusal(404, `no model ${name}`);
    const top = Number(url.searchParams.get("top") ?? 5);
    const answer = (image, off) => ({ json: { model: name, predictions: network.classify(name, checkImage(image), top, off), milliseconds: 12.5 } });
    switch (url.pathname) {
      case "/v1/classify":
        classified.push(body);
        return answer(body);
      case "/v1/ablate": {
        const { image, off } = await formOf(request, body);
        switches.push({ model: name, patches: off.patches, grid: off.grid });
        return answer(image, off);
      }
      case "/v1/explain": {
        const target = url.searchParams.get("class");
        return { json: network.explain(name, checkImage(body), url.searchParams.get("method"), target ? Number(target) : undefined) };
      }
      case "/v1/attention":
        return { bytes: network.attention(name, checkImage(body)) };
      case "/v1/head": {
        const [layer, head, query] = ["layer", "head", "query"].map((key) => Number(parameters[key]));
        const { queries, keys } = network.kNetworks[name].layers[layer];
        if (queries.rows !== keys.rows) throw new Refusal(404, `${name} gives no vectors`);
        return { json: sequences.headVectors(network.count(keys), layer, head, query) };
      }
      case "/v1/lens":
        return { json: network.lens(name, checkImage(body)) };
    }
    throw new Refusal(404, `no route ${url.pathname}`);
  }

  async function page(url) {
    const path = normalize(url.pathname === "/" ? "/index.html" : url.pathname);
    try {
      return { bytes: await readFile(join(kDist, path)), type: kTypes[extname(path)] };
    } catch {
      throw new Refusal(404, `no file ${path}`);
    }
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    asked.push(`${request.method} ${url.pathname}${url.search}`);
    try {
      const { json, text, bytes, type, events } = url.pathname.startsWith("/v1/") ? await api(request, url) : await page(url);
      if (events) {
        ++mock.streams;
        await stream(response, events, options);
        --mock.streams;
        return;
      }
      if (bytes && !type && options.megabytes < Infinity) return await trickle(response, bytes, options);
      const kind = type ?? (json ? "application/json" : text ? "text/yaml" : "application/octet-stream");
      response.writeHead(200, { "Content-Type": kind, "Content-Security-Policy": "default-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:" });
      response.end(bytes ?? text ?? JSON.stringify(json));
    } catch (error) {
      const { status = 500, headers = {} } = error;
      response.writeHead(status, { "Content-Type": "application/json", ...headers });
      response.end(JSON.stringify({ error: error.message }));
    }
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const address = `http://127.0.0.1:${server.address().port}`;
  return Object.assign(mock, { address, close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }) });
}
