#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace vitrine {

namespace fs = std::filesystem;

/// No file that is read as a whole is larger.
inline constexpr uint64_t kLargestFile = uint64_t{4} << 30;

/// The whole file; throws an `Error` that names it if it cannot be read or has more than `most`
/// bytes. A pipe is read to its end, which is at once if nobody writes to it.
std::string read_file(const fs::path& path, uint64_t most);
std::string read_file(const fs::path& path);

/// Receives bytes on their way to a file.
using ByteSink = std::function<void(const void* bytes, size_t count)>;

/// Writes through a temporary file beside `path`, fsyncs it and renames it into place: at any
/// moment `path` is either the old file or the complete new one. On failure (a full disk, say) the
/// temporary file is removed, the old file stays, and an `Error` names the path and the cause.
void write_file_atomically(const fs::path& path, const std::function<void(const ByteSink&)>& fill);
void write_file_atomically(const fs::path& path, std::string_view text);

/// A file or folder that comes with the program, such as "recipes/addition": relative to the
/// working directory or, if it is not there, to share/vitrine beside the installed program's
/// folder.
fs::path shipped_path(const fs::path& relative);

/// Makes a folder and its parents; throws an `Error` that names it.
void make_folder(const fs::path& path);

}  // namespace vitrine
