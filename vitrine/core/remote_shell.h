#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vitrine/core/files.h"

namespace vitrine {

/// The text as one word of a POSIX shell.
std::string shell_quoted(std::string_view text);

/// The hosts of "a,b,user@c". What cannot be a host and what comes twice is refused.
std::vector<std::string> parse_hosts(const std::string& list);
/// Without the user's name: "user@host" is at "host".
std::string host_address(const std::string& host);

/// Starts programs on other hosts through ssh, or a program that is called like it: `PROGRAM HOST
/// COMMAND`, where COMMAND is for a shell of the host. Hosts have our folders under the same paths.
class RemoteShell {
 public:
  /// `ssh`: the program and its options, separated by blanks. Throws if there is no such program.
  explicit RemoteShell(const std::string& ssh);

  /// What runs `command` on a host, in our current folder. On this host it is `command` itself.
  /// Variables that tell where data are and which network to use go with it.
  std::vector<std::string> on(const std::string& host,
                              const std::vector<std::string>& command) const;
  /// Why such a command ended with this exit code, and what to do; empty if `command` itself did.
  std::string failure(const std::string& host, const std::vector<std::string>& command,
                      int exit_code) const;

  /// Seen when `ssh` is not given: asks for no password, which nobody could type.
  static constexpr auto kDefault = "ssh -o BatchMode=yes -o ConnectTimeout=20";

 private:
  std::vector<std::string> ssh_;
  fs::path folder_;
};

}  // namespace vitrine
