#include "vitrine/core/remote_shell.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "vitrine/core/child_process.h"
#include "vitrine/core/error.h"

namespace vitrine {
namespace {

constexpr int kNoFolder = 125;
constexpr int kNotExecutable = 126, kNotFound = 127;  // as shells say it
constexpr int kSshFailed = 255;
constexpr const char* kPassedOn[] = {"VITRINE_DATA", "GLOO_SOCKET_IFNAME"};

bool is_this_host(const std::string& host) {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 && host == name;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> parse_hosts(const std::string& list) {
  std::vector<std::string> hosts;
  for (size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    const auto host = list.substr(begin, end - begin);
    check_usage(!host.empty() && host[0] != '-' && host.find_first_of(" \t\n") == host.npos,
                "--hosts: '{}' in '{}' is no host; expected names with commas between them", host,
                list);
    check_usage(std::ranges::find(hosts, host) == hosts.end(), "--hosts: '{}' comes twice in '{}'",
                host, list);
    hosts.push_back(host);
    begin = end + 1;
  }
  return hosts;
}

std::string host_address(const std::string& host) { return host.substr(host.find('@') + 1); }

RemoteShell::RemoteShell(const std::string& ssh) : folder_(fs::current_path()) {
  std::istringstream words(ssh);
  ssh_.assign(std::istream_iterator<std::string>(words), {});
  check_usage(!ssh_.empty(), "--ssh: expected a program, such as 'ssh -p 2222'");
  const auto program = find_program(ssh_[0]);
  check_usage(!program.empty(),
              "--ssh: there is no program '{}'; install it (openssh-client), or name another",
              ssh_[0]);
  ssh_[0] = program.string();
}

std::vector<std::string> RemoteShell::on(const std::string& host,
                                         const std::vector<std::string>& command) const {
  if (is_this_host(host)) return command;
  auto line = fmt::format("cd {} || exit {}; exec env", shell_quoted(folder_.string()), kNoFolder);
  for (const auto* name : kPassedOn)
    if (const char* value = std::getenv(name); value != nullptr)
      line += fmt::format(" {}={}", name, shell_quoted(value));
  for (const auto& word : command) line += " " + shell_quoted(word);
  auto whole = ssh_;
  whole.insert(whole.end(), {host, line});
  return whole;
}

std::string RemoteShell::failure(const std::string& host, const std::vector<std::string>& command,
                                 int exit_code) const {
  if (is_this_host(host)) return "";
  switch (exit_code) {
    case kSshFailed:
      return fmt::format("it cannot be reached; see that '{} {} true' works without a password",
                         fmt::join(ssh_, " "), host);
    case kNoFolder:
      return fmt::format("it has no folder {}; hosts need the same folders", folder_.string());
    case kNotExecutable:
    case kNotFound:
      return fmt::format("it cannot run {}; install it there under this path", command[0]);
    default:
      return "";
  }
}

}  // namespace vitrine
