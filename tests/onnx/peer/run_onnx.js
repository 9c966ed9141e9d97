// node run_onnx.js JOBS.json: runs ONNX files. A job is {model, feeds, out}; a feed is {type, dims, file} with raw numbers
// in `file`. The outputs of a job go to `out`.NAME, raw float32, and their shapes to `out`.json.
const fs = require('fs');
const ort = require('onnxruntime-node');

const kinds = {float32: Float32Array, int64: BigInt64Array};

function tensor({type, dims, file}) {
  const bytes = fs.readFileSync(file);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  return new ort.Tensor(type, new kinds[type](buffer), dims);
}

async function run({model, feeds, out}) {
  const session = await ort.InferenceSession.create(model, {logSeverityLevel: 3});
  const given = Object.fromEntries(Object.entries(feeds).map(([name, feed]) => [name, tensor(feed)]));
  const results = await session.run(given);
  const dims = {};
  for (const [name, result] of Object.entries(results)) {
    dims[name] = result.dims.map(Number);
    fs.writeFileSync(`${out}.${name}`, Buffer.from(Float32Array.from(result.data, Number).buffer));
  }
  fs.writeFileSync(`${out}.json`, JSON.stringify(dims));
}

(async () => {
  for (const job of JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))) {
    try {
      await run(job);
    } catch (error) {
      throw new Error(`${job.model}: ${error.message}`);
    }
  }
})().catch(error => { console.error(error.message); process.exit(1); });
