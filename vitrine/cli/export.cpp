#include "vitrine/onnx/export.h"
#include "vitrine/cli/commands.h"
#include "vitrine/cli/options.h"
#include "vitrine/core/error.h"
#include "vitrine/formats/npz.h"
#include "vitrine/weights/exporters.h"

namespace vitrine::cli {
namespace {

struct ExportOptions {
  std::string model, format, names = "timm", out;
  bool attention = false;
  Precision precision = Precision::Float32;
};

/// A format that `--format` names, and who writes it.
struct ExportFormat {
  std::string name;
  int (*write)(const ExportOptions& o, Streams streams);
};

WeightNames names_called(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [text, names] : weight_names()) {
    if (text == name) return names;
    known.push_back(text);
  }
  fail_usage("export: --names {} is not known{} (known: {})", name, did_you_mean(name, known),
             fmt::join(known, ", "));
}

/// Floating-point tensors in the precision of the file.
NamedTensors as_stored(NamedTensors tensors, Precision precision) {
  if (precision == Precision::Float32) return tensors;
  for (auto& [name, tensor] : tensors)
    if (tensor.is_floating_point()) tensor = tensor.to(torch::kBFloat16);
  return tensors;
}

/// Writes a file, or a folder with its JSON files if `-o` has no ending of a file.
int write_weights(const ExportOptions& o, Streams streams) {
  const bool npz = o.format == "npz";
  check_usage(o.precision == Precision::Float32 || (o.precision == Precision::BFloat16 && !npz),
              "export: --precision {} is not for {}, {}; take fp32{}, or --format onnx",
              precision_name(o.precision), o.format,
              npz ? "which has no such type" : "whose readers expect floating-point weights",
              npz ? "" : " or bf16");
  const auto weights = export_weights(load_checkpoint(o.model), names_called(o.names));
  const bool folder = !o.out.ends_with("." + o.format);
  check_usage(!folder || (!npz && !weights.files.empty()),
              "export: -o {} does not end in .{}; a folder is for --format safetensors with the "
              "names of timm or hf, and for models that they have",
              o.out, o.format);
  if (folder) make_folder(o.out);
  const auto path = folder ? fs::path(o.out) / "model.safetensors" : fs::path(o.out);
  if (npz)
    save_npz(path, weights.tensors);
  else
    save_safetensors(
        path, {.tensors = as_stored(weights.tensors, o.precision), .metadata = {{"format", "pt"}}});
  streams.out << path.string() << '\n';
  for (const auto& [name, text] : weights.files) {
    if (!folder) continue;
    write_file_atomically(fs::path(o.out) / name, text);
    streams.out << (fs::path(o.out) / name).string() << '\n';
  }
  for (const auto& note : weights.notes) streams.err << "export: " << note << '\n';
  if (!folder && !weights.files.empty())
    streams.err << "export: preprocessing and the names of the classes are only written to a "
                   "folder\n";
  return 0;
}

std::string port_text(const OnnxPort& port) {
  return fmt::format("{} (B{}{})\n", port.name, port.shape.empty() ? "" : ", ",
                     fmt::join(port.shape, ", "));
}

int write_onnx(const ExportOptions& o, Streams streams) {
  check_usage(o.out.ends_with(".onnx"), "export: -o {} does not end in .onnx", o.out);
  const auto written = export_onnx(load_checkpoint(o.model), o.out,
                                   {.attention = o.attention, .precision = o.precision});
  constexpr double kMega = 1e6;
  streams.out << fmt::format("{}: {} nodes, {:.1f} MB\n", o.out, written.nodes,
                             static_cast<double>(written.bytes) / kMega);
  for (const auto& port : written.inputs) streams.out << "input  " << port_text(port);
  for (const auto& port : written.outputs) streams.out << "output " << port_text(port);
  return 0;
}

const std::vector<ExportFormat>& formats() {
  static const std::vector<ExportFormat> table = {
      {"safetensors", write_weights}, {"npz", write_weights}, {"onnx", write_onnx}};
  return table;
}

int run_export(ExportOptions o, Streams streams) {
  std::vector<std::string> known;
  for (const auto& [name, write] : formats()) {
    if (o.format.empty() && o.out.ends_with("." + name)) o.format = name;
    known.push_back(name);
  }
  if (o.format.empty()) o.format = known[0];
  for (const auto& [name, write] : formats())
    if (name == o.format) return write(o, streams);
  fail_usage("export: --format {} is not known{} (known: {})", o.format,
             did_you_mean(o.format, known), fmt::join(known, ", "));
}

}  // namespace

Command export_command() {
  return {"export", "write a model for other programs: ONNX, or weights under their names",
          [](CLI::App& app) {
            const auto o = std::make_shared<ExportOptions>();
            add_model(app, "model", o->model);
            app.add_option("--format", o->format,
                           "onnx: the network; safetensors or npz: weights under others' names; "
                           "default: by the ending of -o, else safetensors")
                ->type_name("safetensors|npz|onnx");
            app.add_option("--names", o->names,
                           "safetensors, npz: whose names: timm (ViT, hybrids, ResNet), hf (ViT), "
                           "torchvision (ViT, ResNet) or google (ViT, hybrids)")
                ->type_name("timm|hf|torchvision|google")
                ->capture_default_str();
            app.add_option("-o,--out", o->out,
                           "the file; or, for timm and hf, a folder, with config.json")
                ->type_name("PATH")
                ->required();
            app.add_flag("--attention", o->attention,
                         "onnx: the attention weights of every layer as further outputs");
            take_one_of(app.add_option("--precision", o->precision,
                                       "onnx: of products with weights (int8, bf16); safetensors: "
                                       "of the stored weights (bf16); default: fp32"),
                        precision_names());
            return [o](Streams s) { return run_export(*o, s); };
          }};
}

}  // namespace vitrine::cli
