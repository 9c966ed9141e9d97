#include "vitrine/data/download.h"

#include <curl/curl.h>

#include <memory>

#include "vitrine/core/error.h"
#include "vitrine/core/interrupt.h"
#include "vitrine/core/progress.h"

namespace vitrine {
namespace {

constexpr long kConnectSeconds = 5;
constexpr long kStallSeconds = 30, kStallBytesPerSecond = 1000;

struct Transfer {
  const ByteSink& sink;
  std::string label;
  std::unique_ptr<Progress> bar;
  std::string error;  // of the sink: an exception must not pass through libcurl
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

int show(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  constexpr int64_t kMegabyte = 1000000;
  if (total > kMegabyte && !transfer.bar)
    transfer.bar = std::make_unique<Progress>(transfer.label, total / kMegabyte, "MB");
  if (transfer.bar) transfer.bar->update(done / kMegabyte);
  return interrupted();
}

}  // namespace

void download(const std::string& url, const fs::path& path) {
  write_file_atomically(path, [&](const ByteSink& sink) {
    const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
    Transfer transfer{sink, fs::path(url).filename().string(), nullptr, ""};
    curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kStallSeconds);
    curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, show);
    curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &transfer);
    const auto result = curl_easy_perform(curl.get());
    check(transfer.error.empty(), "{}", transfer.error);
    check(result == CURLE_OK, "download: {}: {}", url, curl_easy_strerror(result));
  });
}

}  // namespace vitrine
