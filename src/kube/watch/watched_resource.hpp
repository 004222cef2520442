#pragma once
// The three kinds of objects we follow, as a reflector sees them: where to list them, how to read
// one, and what to tell the observer. Each is used by one thread.

#include "codec.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/kube/api.hpp"

#include <memory>
#include <string>
#include <vector>

namespace kindlb::kube {

class WatchedResource {
 public:
  virtual ~WatchedResource() = default;
  virtual const char* name() const = 0;  ///< "services", for people
  virtual const char* path() const = 0;

  /// A list: begin, add each item, publish. A list that breaks off is simply begun again.
  virtual void begin_list() = 0;
  virtual core::Result<void> add_item(const Json& item) = 0;
  virtual void finish_list() = 0;

  /// Single changes. An object that no longer concerns us counts as deleted.
  virtual core::Result<void> changed(const Json& object) = 0;
  virtual core::Result<void> deleted(const Json& object) = 0;
};

/// The observer must outlive the resources.
std::vector<std::unique_ptr<WatchedResource>> make_watched_resources(const std::string& cluster,
                                                                     Observer& observer);

}  // namespace kindlb::kube
