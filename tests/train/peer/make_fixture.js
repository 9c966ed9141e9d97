// Writes tests/fixtures/foreign.tfevents with the foreign writer. Run in this folder:
//   npm ci --ignore-scripts && node make_fixture.js ../../fixtures/foreign.tfevents
const { RecordWriter } = require("tfrecord");
const Event = require("./event.js");

// Proto3 leaves out a field that is 0, unless it belongs to a oneof.
const scalar = (wall_time, step, tag, simple_value) =>
  ({ wall_time, ...(step && { step }), summary: { value: [{ tag, simple_value }] } });

(async () => {
  const writer = await RecordWriter.create(process.argv[2]);
  for (const event of [
    { wall_time: 1700000000, file_version: "brain.Event:2" },
    scalar(1700000000.25, 0, "train/loss", 2.3025851),
    scalar(1700000001.5, 1, "train/loss", 0),
    scalar(1700000002, 1000000000000, "정확도", -1.5e-7),
  ])
    await writer.writeRecord(Event.encode(Event.create(event)).finish());
  await writer.close();
})();
