// node ort_peer.js MODEL.onnx --batch N --threads N --seconds S: the forward pass in ONNX Runtime, the peer of
// `vitrine bench infer`. Run by compare.py; prints one JSON object like `vitrine bench --json`.
const {performance} = require('perf_hooks');
const {parseArgs} = require('util');
const ort = require('onnxruntime-node');

const {values: options, positionals: [file]} = parseArgs({
  allowPositionals: true,
  options: {batch: {type: 'string'}, threads: {type: 'string'}, seconds: {type: 'string'}},
});
const batch = Number(options.batch), seconds = Number(options.seconds);

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function randomInput(session) {
  const [, ...sizes] = session.inputMetadata[0].shape;
  const dims = [batch, ...sizes.map(Number)];
  const numbers = Float32Array.from({length: dims.reduce((a, b) => a * b)}, () => Math.random() - 0.5);
  return {[session.inputNames[0]]: new ort.Tensor('float32', numbers, dims)};
}

(async () => {
  const session = await ort.InferenceSession.create(
    file, {intraOpNumThreads: Number(options.threads), interOpNumThreads: 1, logSeverityLevel: 3});
  const feeds = randomInput(session);
  for (let i = 0; i < 2; ++i) await session.run(feeds);
  const times = [], start = performance.now();
  while (times.length < 5 || performance.now() - start < 1e3 * seconds) {
    const began = performance.now();
    await session.run(feeds);
    times.push(performance.now() - began);
  }
  const ms = median(times);
  console.log(JSON.stringify({
    bench: 'infer', onnxruntime: require('onnxruntime-node/package.json').version, batch, ms_per_step: ms,
    steps: times.length, examples_per_second: 1e3 * batch / ms, peak_bytes: 1024 * process.resourceUsage().maxRSS,
  }));
})().catch(error => { console.error(`${file}: ${error.message}`); process.exit(1); });
