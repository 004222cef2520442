#pragma once
// The library's HTTP server with its ways of waiting replaced: connections wait in a Lobby until
// there is a request, and only then take a thread. The library reads requests and writes answers.

#include "kindlb/base/thread_pool.hpp"
#include "kindlb/http_server/connection_poller.hpp"

#include <sys/socket.h>

#include <httplib.h>

#include <functional>
#include <memory>
#include <string>

namespace kindlb::http_server {

class Front final : public httplib::Server {
 public:
  struct Options {
    LobbyLimits limits;
    std::size_t threads = 256;
    std::function<std::unique_ptr<Wire>(int socket)> make_wire;
    std::function<std::string(int status)> refusal;  ///< the body of an answer, a Status
  };
  explicit Front(Options options);
  ~Front() override { close_all(); }

  /// After binding: the library lets five clients wait to be accepted, and the sixth for a second.
  void welcome_many() { ::listen(svr_sock_, 1024); }
  /// While answering a request of which it is not known where it ends: nothing that follows on this
  /// connection would make sense.
  static void hang_up_after_this();
  /// Ends every connection, at once when nothing is being answered. After stop().
  void close_all();

 private:
  bool process_and_close_socket(socket_t socket) override;
  void serve(Guest guest);
  /// False: the connection is over.
  bool answer(Guest& guest);

  const Options options_;
  std::stop_source stopping_;
  base::ThreadPool workers_;
  Lobby lobby_;
};

}  // namespace kindlb::http_server
