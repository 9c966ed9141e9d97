// Prints the events of a file, one JSON object per line; fails on any bad length or CRC.
const { RecordReader } = require("tfrecord");
const Event = require("./event.js");

(async () => {
  const reader = await RecordReader.create(process.argv[2]);
  for (let record; (record = await reader.readRecord()) !== null; )
    console.log(JSON.stringify(Event.toObject(Event.decode(record), { longs: Number })));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
