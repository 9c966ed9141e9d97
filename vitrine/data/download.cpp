#include "vitrine/data/download.h"

#include <curl/curl.h>

#include <fstream>
#include <memory>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/progress.h"

namespace vitrine {
namespace {

constexpr long kConnectSeconds = 5;
constexpr long kStallSeconds = 30, kStallBytesPerSecond = 1000;
constexpr int kMaxTries = 20;

struct Transfer {
  const ByteSink& sink;
  std::string label;
  int64_t before = 0;  // bytes that an earlier transfer has brought
  std::unique_ptr<Progress> bar{};
  std::string error{};             // of the sink: an exception must not pass through libcurl
  std::string etag{}, modified{};  // by which the server knows this version of the file

  /// What asks the server for the rest of the same version; "" if it names none.
  const std::string& validator() const { return etag.empty() ? modified : etag; }
};

size_t take(char* bytes, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    transfer.sink(bytes, size * count);
  } catch (const Error& e) {
    transfer.error = e.what();
    return 0;
  }
  return size * count;
}

/// The value of a header line of this name; "" if it is another.
std::string header_value(std::string_view line, std::string_view name) {
  const bool named = line.size() > name.size() && line[name.size()] == ':' &&
                     curl_strnequal(line.data(), name.data(), name.size()) != 0;
  const auto begin = named ? line.find_first_not_of(" \t", name.size() + 1) : line.npos;
  const auto end = line.find_last_not_of(" \t\r\n");
  return begin != line.npos && begin <= end ? std::string(line.substr(begin, end - begin + 1)) : "";
}

size_t take_header(char* bytes, size_t size, size_t count, void* user) {
  const std::string_view line(bytes, size * count);
  auto& transfer = *static_cast<Transfer*>(user);
  if (line.starts_with("HTTP/")) transfer.etag = transfer.modified = "";  // behind a redirection
  if (const auto value = header_value(line, "ETag"); !value.empty() && !value.starts_with("W/"))
    transfer.etag = value;
  if (const auto value = header_value(line, "Last-Modified"); !value.empty())
    transfer.modified = value;
  return line.size();
}

int show(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  constexpr int64_t kMegabyte = 1000000;
  if (total > kMegabyte && !transfer.bar) {
    transfer.bar =
        std::make_unique<Progress>(transfer.label, (transfer.before + total) / kMegabyte, "MB");
    transfer.bar->start_at(transfer.before / kMegabyte);
  }
  if (transfer.bar) transfer.bar->update((transfer.before + done) / kMegabyte);
  return interrupted();
}

std::string last_part(const std::string& url) { return fs::path(url).filename().string(); }

/// One request; throws what the sink throws. `range_validator` asks for the bytes behind
/// `transfer.before`, provided that the file is still the version with this ETag or date.
CURLcode request(const std::string& url, Transfer& transfer, const std::string& range_validator) {
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(nullptr, curl_slist_free_all);
  if (!range_validator.empty())
    headers.reset(curl_slist_append(nullptr, ("If-Range: " + range_validator).c_str()));
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_RESUME_FROM_LARGE, curl_off_t{transfer.before});
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, show);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &transfer);
  const auto result = curl_easy_perform(curl.get());
  check(transfer.error.empty(), "{}", transfer.error);
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  constexpr long kNoSuchRange = 416;
  return status == kNoSuchRange ? CURLE_RANGE_ERROR : result;
}

/// The bytes of a download that is not complete, and which version of the file they are of.
class PartialFile {
 public:
  explicit PartialFile(const fs::path& path)
      : path_(path), version_path_(path.string() + ".version") {}

  int64_t size() const {
    std::error_code missing;
    const auto bytes = fs::file_size(path_, missing);
    return missing ? 0 : static_cast<int64_t>(bytes);
  }
  std::string version() const { return fs::exists(version_path_) ? read_file(version_path_) : ""; }
  void append(const void* bytes, size_t count, const std::string& version) {
    if (!stream_.is_open()) {
      if (!version.empty()) write_file_atomically(version_path_, version);
      stream_.open(path_, std::ios::binary | std::ios::app);
    }
    stream_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    check_written();
  }
  void close() {
    if (!stream_.is_open()) return;
    stream_.close();
    check_written();
  }
  void remove() {
    fs::remove(path_);
    forget_version();
  }
  void forget_version() { fs::remove(version_path_); }

 private:
  void check_written() const {
    check(stream_.good(), "download: cannot write {}; free space and run the command again",
          path_.string());
  }

  fs::path path_, version_path_;
  std::ofstream stream_;
};

}  // namespace

void download(const std::string& url, const fs::path& path) {
  write_file_atomically(path, [&](const ByteSink& sink) {
    Transfer transfer{.sink = sink, .label = last_part(url)};
    const auto result = request(url, transfer, /*range_validator=*/"");
    check(result == CURLE_OK, "download: {}: {}", url, curl_easy_strerror(result));
  });
}

void resume_download(const std::string& url, const fs::path& partial) {
  for (int tries = 1;; ++tries) {
    PartialFile file(partial);
    // The rest of another version would not fit.
    if (file.version().empty()) file.remove();
    const auto before = file.size();
    const Transfer* current = nullptr;
    const ByteSink sink = [&](const void* bytes, size_t count) {
      file.append(bytes, count, current->validator());
    };
    Transfer transfer{.sink = sink, .label = last_part(url), .before = before};
    current = &transfer;
    const auto result = request(url, transfer, before > 0 ? file.version() : "");
    file.close();
    if (result == CURLE_OK) return file.forget_version();
    const bool other_version = result == CURLE_RANGE_ERROR && before > 0;
    if (other_version) file.remove();
    const bool go_on =
        (other_version || file.size() > before) && tries < kMaxTries && !interrupted();
    check(
        go_on, "download: {}: {}{}", url, curl_easy_strerror(result),
        file.version().empty()
            ? ""
            : fmt::format("; {} bytes have arrived, run the command again to go on", file.size()));
  }
}

}  // namespace vitrine
