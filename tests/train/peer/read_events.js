// Prints the events of a file, one JSON object per line; fails on any bad length or CRC. What a value
// holds for the HParams plugin is printed as `hparams`.
const { RecordReader } = require("tfrecord");
const Event = require("./event.js");
const HParams = require("./hparams.js");

const plain = (type, bytes) => type.toObject(type.decode(bytes), { longs: Number });

const readable = (record) => {
  const event = plain(Event, record);
  for (const value of event.summary?.value ?? []) {
    const plugin = value.metadata?.plugin_data;
    if (plugin?.plugin_name === "hparams") value.hparams = plain(HParams, plugin.content);
  }
  return event;
};

(async () => {
  const reader = await RecordReader.create(process.argv[2]);
  for (let record; (record = await reader.readRecord()) !== null; )
    console.log(JSON.stringify(readable(record)));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
