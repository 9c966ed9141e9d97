// The content of TensorBoard's HParams plugin for protobufjs, by the field numbers of the plugin's
// plugin_data.proto and of google/protobuf/struct.proto.
const protobuf = require("protobufjs");

module.exports = protobuf.parse(`
  syntax = "proto3";
  package hparams;
  message HParamsPluginData {
    int32 version = 1;
    oneof data {
      bytes experiment = 2;
      SessionStartInfo session_start_info = 3;
      SessionEndInfo session_end_info = 4;
    }
  }
  message Value {
    oneof kind {
      int32 null_value = 1;
      double number_value = 2;
      string string_value = 3;
      bool bool_value = 4;
      bytes struct_value = 5;
      bytes list_value = 6;
    }
  }
  message SessionStartInfo {
    map<string, Value> hparams = 1;
    string model_uri = 2;
    string monitor_url = 3;
    string group_name = 4;
    double start_time_secs = 5;
  }
  message SessionEndInfo {
    int32 status = 1;
    double end_time_secs = 2;
  }
`, { keepCase: true }).root.lookupType("hparams.HParamsPluginData");
