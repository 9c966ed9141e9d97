#pragma once

#include <string>

#include "vitrine/core/files.h"

namespace vitrine {

/// Downloads `url` to `path` with a progress bar; throws with the cause, leaving no file behind.
/// Gives up soon where there is no network.
void download(const std::string& url, const fs::path& path);

/// Downloads `url` into `partial`, going on behind the bytes that it holds from an earlier call. A
/// connection that breaks is tried again as long as bytes arrive. What has arrived stays, whatever
/// happens; if the server has another file by now, everything is fetched again. Proxies are those
/// of the environment (HTTPS_PROXY, NO_PROXY).
void resume_download(const std::string& url, const fs::path& partial);

}  // namespace vitrine
