// TensorBoard's Event message for protobufjs, by the field numbers of TensorFlow's event.proto and
// summary.proto. Unlike our own event.proto it also lists the neighbours that must stay unset.
const protobuf = require("protobufjs");

module.exports = protobuf.parse(`
  syntax = "proto3";
  package tensorflow;
  message Event {
    double wall_time = 1;
    int64 step = 2;
    oneof what {
      string file_version = 3;
      bytes graph_def = 4;
      Summary summary = 5;
    }
  }
  message SummaryMetadata {
    message PluginData { string plugin_name = 1; bytes content = 2; }
    PluginData plugin_data = 1;
    string display_name = 2;
    string summary_description = 3;
    int32 data_class = 4;
  }
  message Summary {
    message Value {
      string tag = 1;
      string node_name = 7;
      oneof value { float simple_value = 2; bytes tensor = 8; }
      SummaryMetadata metadata = 9;
    }
    repeated Value value = 1;
  }
`, { keepCase: true }).root.lookupType("tensorflow.Event");
