// Removes what a run has created. Objects are found by their label alone, never by what the process
// remembers, so that the same code cleans up after a run that was killed. Order matters: Services
// go before their namespace, because a provider releases a load balancer by looking at its Service,
// and some cannot do that any more in a namespace that is being deleted.

#include "environment.hpp"
#include "kindlb/base/sleep.hpp"

#include <fmt/format.h>

#include <set>

namespace kindlb::conformance {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using Clock = std::chrono::steady_clock;

struct Found {
  std::string what;  ///< "service a/b"
  std::string path;
};

Result<std::vector<Found>> find_labelled(kube::Objects& objects, const std::string& kind,
                                         const CreatedObjects& created) {
  const auto selector =
      created.run.empty() ? std::string(kRunLabel) : kRunLabel + ("=" + created.run);
  const auto where = created.ns.empty() ? "" : "namespaces/" + http::url_escaped(created.ns) + "/";
  const auto listed = objects.get(
      fmt::format("/api/v1/{}{}?labelSelector={}", where, kind, http::url_escaped(selector)));
  if (!listed) return listed.error();
  std::vector<Found> out;
  for (const auto& item : json::list_at(*listed, {"items"})) {
    const auto ns = json::text_at(item, {"metadata", "namespace"});
    const auto name = json::text_at(item, {"metadata", "name"});
    const bool in_namespace = kind == "services";
    // Without a name, the path would be that of the whole collection, and all of it would be
    // deleted.
    if (name.empty() || (in_namespace && ns.empty()))
      return Error{ErrorKind::Protocol, "find what the tests created",
                   "the API server listed an object without a name"};
    if (in_namespace)
      out.push_back({"service " + ns + "/" + name,
                     fmt::format("/api/v1/namespaces/{}/services/{}", http::url_escaped(ns),
                                 http::url_escaped(name))});
    else
      out.push_back({"namespace " + name, "/api/v1/namespaces/" + http::url_escaped(name)});
  }
  return out;
}

/// Delete those that were not deleted yet. Return the last failure; the caller tries again.
Result<void> remove_each(kube::Objects& objects, const std::vector<Found>& found,
                         std::set<std::string>& deleted) {
  Result<void> out;
  for (const auto& one : found) {
    if (deleted.contains(one.path)) continue;
    auto done = objects.remove(one.path);
    if (done)
      deleted.insert(one.path);
    else
      out = std::move(done);
  }
  return out;
}

Result<void> remove_kind(kube::Objects& objects, const std::string& kind,
                         const CreatedObjects& created,
                         const std::function<void(const std::string&)>& say,
                         const std::stop_token& stop) {
  const auto deadline = Clock::now() + kPodTimeout;
  auto next_report = Clock::now() + std::chrono::seconds(5);
  std::string last;
  std::set<std::string> deleted;  // API paths; finalizers keep the objects for a while
  while (Clock::now() < deadline) {
    const auto found = find_labelled(objects, kind, created);
    if (found && found->empty()) return {};
    const auto refused = found ? remove_each(objects, *found, deleted) : found.error();
    last = refused ? found->front().what : refused.error().text();
    if (!refused && refused.error().kind == ErrorKind::Denied)
      return Error{ErrorKind::Denied, "clean up", last};  // retrying would not help
    if (Clock::now() >= next_report) {
      say("waiting for the deletion of " + last);
      next_report += std::chrono::seconds(10);
    }
    if (!base::sleep_for(stop, kPoll)) return Error{ErrorKind::Cancelled, "clean up", "stopped"};
  }
  return Error{ErrorKind::Timeout, "clean up", "not deleted in time: " + last};
}
}  // namespace

Result<void> remove_run(kube::Objects& objects, const CreatedObjects& created,
                        const std::function<void(const std::string&)>& say,
                        const std::stop_token& stop) {
  auto services = remove_kind(objects, "services", created, say, stop);
  if (!created.ns.empty()) return services;
  auto namespaces = remove_kind(objects, "namespaces", created, say, stop);
  return services ? namespaces : services;
}

Result<std::vector<std::string>> find_leftovers(kube::Objects& objects) {
  std::vector<std::string> out;
  for (const char* kind : {"namespaces", "services"}) {
    const auto found = find_labelled(objects, kind, {});
    if (!found) return found.error();
    for (const auto& one : *found) out.push_back(one.what);
  }
  return out;
}

Result<void> remove_leftovers(kube::Objects& objects, Listener& listener,
                              const std::stop_token& stop) {
  return remove_run(
      objects, {}, [&](const std::string& line) { listener.message(line); }, stop);
}

}  // namespace kindlb::conformance
