#pragma once

// All that differs between the httplib of Debian 12 (0.11) and that of Debian 13 (0.18).

#include <httplib.h>

#include <functional>
#include <string>
#include <utility>

namespace vitrine::serve {

/// What TaskQueue::enqueue returns: nothing, or whether the task was taken.
using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));

/// httplib's server for those who bring their own streams.
class StreamServer : public httplib::Server {
 protected:
  /// Reads a request, whose header `set_up` may change, and answers it. `last`: tell the client
  /// that the connection ends; `done` becomes true where it ends.
  template <typename Self = StreamServer>
  bool answer_request(httplib::Stream& stream, bool last, bool& done,
                      const std::function<void(httplib::Request&)>& set_up) {
    auto& self = static_cast<Self&>(*this);
    if constexpr (requires { self.process_request(stream, last, done, set_up); }) {
      return self.process_request(stream, last, done, set_up);
    } else {
      std::string remote, local;
      int remote_port = 0, local_port = 0;
      stream.get_remote_ip_and_port(remote, remote_port);
      stream.get_local_ip_and_port(local, local_port);
      return self.process_request(stream, remote, remote_port, local, local_port, last, done,
                                  set_up);
    }
  }
};

}  // namespace vitrine::serve
