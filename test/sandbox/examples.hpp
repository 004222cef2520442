#pragma once
// What each file of examples/ promises, as values: the same promises are held against the sandbox
// and against a real API server.

#include "integration/diary.hpp"
#include "kindlb/core/proxy_config.hpp"
#include "support/servers/kube_server.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::it {

/// A cluster in which the examples have been applied to one namespace.
struct Cluster {
  test::Rest rest;
  std::string ns;
  Diary& diary;

  std::string path(const std::string& service) const {
    return "/api/v1/namespaces/" + ns + "/services/" + service;
  }
};

struct Promise {
  std::string name;        ///< of the Service and, with ".yaml", of its file
  std::string conditions;  ///< as told() puts them, once all is at rest; empty: never any
  std::size_t addresses = 1;
  std::vector<core::PortStatus> answers = {{80, core::Protocol::Tcp, ""}};
  bool real = true;  ///< a real API server has the fields
  std::string says;  ///< part of a condition's message
  /// What else its comment says; gets the Service at rest.
  std::function<void(const Cluster&, const core::Service&)> more;
};

std::vector<Promise> promises();

/// The text of an example, with another chosen address where the network has not that of the file.
std::string example_text(const std::string& name, const std::string& chosen_address);
/// The names of all files in examples/.
std::vector<std::string> example_names();

/// Waits until the Service has come to rest and holds it against the promise.
void check_promise(const Cluster& cluster, const Promise& promise);

/// The body of GET `path`, or why there is none.
std::string http_answer(const std::string& ip, std::uint16_t port, const std::string& path);

}  // namespace kindlb::it
