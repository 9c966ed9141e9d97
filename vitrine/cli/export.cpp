#include "vitrine/onnx/export.h"

#include "vitrine/cli/commands.h"
#include "vitrine/core/error.h"
#include "vitrine/weights/checkpoint.h"

namespace vitrine::cli {
namespace {

struct ExportOptions {
  std::string what;
  std::string format = "onnx";
  std::string out;
  bool attention = false;
};

std::string port_text(const OnnxPort& port) {
  return fmt::format("{} (B{}{})\n", port.name, port.shape.empty() ? "" : ", ",
                     fmt::join(port.shape, ", "));
}

int run_export(const ExportOptions& o, Streams streams) {
  check_usage(o.out.ends_with(".onnx"), "export: -o {} does not end in .onnx", o.out);
  const auto written = export_onnx(load_checkpoint(o.what), o.out, {.attention = o.attention});
  constexpr double kMega = 1e6;
  streams.out << fmt::format("{}: {} nodes, {:.1f} MB\n", o.out, written.nodes,
                             static_cast<double>(written.bytes) / kMega);
  for (const auto& port : written.inputs) streams.out << "input  " << port_text(port);
  for (const auto& port : written.outputs) streams.out << "output " << port_text(port);
  return 0;
}

}  // namespace

Command export_command() {
  return {"export", "write a model in a format of other programs", [](CLI::App& app) {
            const auto o = std::make_shared<ExportOptions>();
            app.add_option("model", o->what, "a run folder or checkpoint")->required();
            app.add_option("--format", o->format, "onnx")
                ->capture_default_str()
                ->check(CLI::IsMember({"onnx"}));
            app.add_option("-o,--out", o->out, "the file to write")->required();
            app.add_flag("--attention", o->attention,
                         "onnx: the attention weights of every layer as further outputs");
            return [o](Streams s) { return run_export(*o, s); };
          }};
}

}  // namespace vitrine::cli
