#include "vitrine/formats/tfjs_manifest.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "vitrine/core/error.h"
#include "vitrine/core/json_nesting.h"
#include "vitrine/formats/byte_count.h"

namespace vitrine {
namespace {

using Json = nlohmann::json;

constexpr const char* kManifest = "weightsManifest";
constexpr uint64_t kLongestModelJson = 8 << 20;  // ResNet-50 has 0.2 MB

constexpr std::pair<std::string_view, uint64_t> kTfjsElementBytes[] = {
    {"float32", 4}, {"int32", 4}, {"bool", 1}, {"uint8", 1}, {"float16", 2}, {"uint16", 2}};

Json parse_model_json(std::string_view text, const std::string& where) {
  check(text.size() <= kLongestModelJson, "tfjs: {} has {} bytes, more than {}", where, text.size(),
        kLongestModelJson);
  check(!is_nested_deeper(text), "tfjs: {} is not valid JSON (nested deeper than {} levels)", where,
        kJsonLevels);
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    // The message may quote the file at any length.
    fail("tfjs: {} is not valid JSON ({})", where, std::string(e.what()).substr(0, 120));
  }
}

std::string shown_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

const Json& entry_of(const Json& object, const char* key, const std::string& what) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  check(object.is_object() && found != object.end(), "tfjs: {} has no '{}'", what, key);
  return *found;
}

uint64_t tfjs_element_bytes(const Json& dtype, const std::string& what) {
  for (const auto& [known, bytes] : kTfjsElementBytes)
    if (dtype.is_string() && dtype.get_ref<const std::string&>() == known) return bytes;
  fail("tfjs: {} has dtype {}, which is not known; convert it to float32", what, shown_json(dtype));
}

std::vector<int64_t> shape_of(const Json& entry, const std::string& what) {
  check(entry.is_array() && entry.size() <= kMaxDimensions, "tfjs: {} has no shape", what);
  std::vector<int64_t> shape;
  for (const auto& size : entry) {
    check(size.is_number_unsigned() && size.get<uint64_t>() < (uint64_t{1} << 62),
          "tfjs: {}: the shape holds {}, expected a size", what, shown_json(size));
    shape.push_back(size.get<int64_t>());
  }
  return shape;
}

double number_of(const Json& quantisation, const char* key, const std::string& what) {
  const auto& entry = entry_of(quantisation, key, what);
  check(entry.is_number(), "tfjs: {}: its {} is not a number", what, key);
  return entry.get<double>();
}

TfjsTensor tensor_of(const Json& entry, const std::string& where) {
  const auto& name = entry_of(entry, "name", where);
  check(name.is_string(), "tfjs: {}: {} is not the name of a tensor", where, shown_json(name));
  TfjsTensor tensor{.name = name.get<std::string>(), .dtype = {}, .shape = {}};
  const auto what = fmt::format("{}: '{}'", where, tensor.name);
  tensor.shape = shape_of(entry_of(entry, "shape", what), what);
  const auto quantisation = entry.find("quantization");
  tensor.quantised = quantisation != entry.end();
  const auto& dtype = entry_of(tensor.quantised ? *quantisation : entry, "dtype", what);
  const auto bytes = byte_count(tensor.shape, tfjs_element_bytes(dtype, what));
  check(bytes.has_value(), "tfjs: {}: the shape ({}) is too large", what,
        fmt::join(tensor.shape, ", "));
  tensor.bytes = *bytes;
  tensor.dtype = dtype.get<std::string>();
  if (tensor.quantised && tensor.dtype != "float16") {
    tensor.scale = number_of(*quantisation, "scale", what);
    tensor.min = number_of(*quantisation, "min", what);
  }
  return tensor;
}

std::string file_name_of(const Json& path, const std::string& where) {
  const auto name = path.is_string() ? path.get<std::string>() : "";
  check(!name.empty() && std::filesystem::path(name).filename() == name && name != "..",
        "tfjs: {}: '{}' is not the name of a file beside it", where, shown_json(path));
  return name;
}

}  // namespace

std::vector<TfjsGroup> parse_tfjs_manifest(std::string_view text, const std::string& where) {
  const auto json = parse_model_json(text, where);
  const auto& listed = entry_of(json, kManifest, where);
  check(listed.is_array() && !listed.empty(), "tfjs: {}: {} lists no weights", where, kManifest);
  std::vector<TfjsGroup> groups;
  std::set<std::string> names;
  for (const auto& entry : listed) {
    TfjsGroup group;
    for (const auto& path : entry_of(entry, "paths", where))
      group.files.push_back(file_name_of(path, where));
    for (const auto& weight : entry_of(entry, "weights", where)) {
      group.tensors.push_back(tensor_of(weight, where));
      check(names.insert(group.tensors.back().name).second, "tfjs: {}: '{}' comes twice", where,
            group.tensors.back().name);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace vitrine
