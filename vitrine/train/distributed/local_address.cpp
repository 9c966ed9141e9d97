#include "vitrine/train/distributed/local_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "vitrine/core/error.h"

namespace vitrine {

std::string local_address_towards(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* all = nullptr;
  const int unknown = ::getaddrinfo(host.c_str(), "9", &wanted, &all);
  check(unknown == 0, "launch: MASTER_ADDR '{}' is no known host ({}); give its address", host,
        ::gai_strerror(unknown));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(all, ::freeaddrinfo);
  for (const auto* to = all; to != nullptr; to = to->ai_next) {
    const int socket = ::socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, to->ai_protocol);
    sockaddr_storage ours{};
    auto* address = reinterpret_cast<sockaddr*>(&ours);
    socklen_t size = sizeof ours;
    char text[NI_MAXHOST] = "";
    // Connecting a datagram socket sends nothing: it only chooses the way.
    const bool found =
        socket >= 0 && ::connect(socket, to->ai_addr, to->ai_addrlen) == 0 &&
        ::getsockname(socket, address, &size) == 0 &&
        ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
    if (socket >= 0) ::close(socket);
    if (found) return text;
  }
  fail("launch: there is no network towards MASTER_ADDR '{}' ({}); look at its address", host,
       std::strerror(errno));
}

}  // namespace vitrine
