// Runs ONNX models in onnxruntime, for onnx_test.py.
//
// usage: node onnx_client.js JOBS.json
//
// JOBS.json: a list of {"model", "type", "dims", "input", "output", "repeat"}.
// Input and output are files of plain numbers; NODE_PATH has onnxruntime-node.
// Prints one JSON object a job: {"dims": [...], "seconds": of one run}.

const fs = require("fs");
const ort = require("onnxruntime-node");

async function run(job) {
  const session = await ort.InferenceSession.create(job.model, {
    intraOpNumThreads: 1, interOpNumThreads: 1});
  const bytes = fs.readFileSync(job.input);
  const data = job.type === "uint8" ? new Uint8Array(bytes)
      : new Float32Array(bytes.buffer.slice(bytes.byteOffset,
                                            bytes.byteOffset + bytes.length));
  const images = new ort.Tensor(job.type, data, job.dims);
  let result = (await session.run({images})).embeddings;
  const begin = process.cpuUsage();
  for (let i = 0; i < job.repeat; ++i) await session.run({images});
  const used = process.cpuUsage(begin);
  fs.writeFileSync(job.output, Buffer.from(result.data.buffer));
  console.log(JSON.stringify({dims: result.dims, seconds:
      (used.user + used.system) / 1e6 / Math.max(job.repeat, 1)}));
}

async function main() {
  for (const job of JSON.parse(fs.readFileSync(process.argv[2]))) {
    await run(job);
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
