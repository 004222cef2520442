#pragma once
// What is watched, as a reflector sees it: where to list it, how to decode an object, and which
// call of an observer reports it. The controller's three are made here, any other collection is
// watched by objects.cpp. Not thread-safe: each is used by one reflector on one thread.

#include "codec.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/kube/api.hpp"

#include <memory>
#include <string>
#include <vector>

namespace kindlb::kube {

/// Invariant: between begin_list() and finish_list() nothing of the list reaches the observer,
/// which therefore never sees half a list, and a list that breaks off leaves its state as it was.
class WatchedResource {
 public:
  virtual ~WatchedResource() = default;
  virtual const char* name() const = 0;  ///< "services": in errors, and the thread's name
  virtual const char* path() const = 0;  ///< of the collection, with a selector if it has one

  /// A list: begin, add each item of each page, finish, which reports them all. After a failure
  /// the next begin_list() discards what was added. An item that cannot be decoded is an error of
  /// add_item() alone; the list goes on without it.
  virtual void begin_list() = 0;
  virtual core::Result<void> add_item(const Json& item) = 0;
  virtual void finish_list() = 0;

  /// Report a single change. An object that lost what made it relevant (the label of a slice) is
  /// reported as deleted.
  virtual core::Result<void> changed(const Json& object) = 0;
  virtual core::Result<void> deleted(const Json& object) = 0;
};

/// Make Services, EndpointSlices and Nodes. The observer must outlive them.
std::vector<std::unique_ptr<WatchedResource>> make_watched_resources(const std::string& cluster,
                                                                     Observer& observer);

}  // namespace kindlb::kube
