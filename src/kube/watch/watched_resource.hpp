#pragma once
// The three kinds of objects we follow, as a reflector sees them: where to list them, how to read
// one, and what to tell the observer. Each feed is used by one thread.

#include "kindlb/core/result.hpp"
#include "kindlb/kube/api.hpp"
#include "reader.hpp"

#include <memory>
#include <string>
#include <vector>

namespace kindlb::kube {

class Feed {
 public:
  virtual ~Feed() = default;
  virtual const char* name() const = 0;  ///< "services", for people
  virtual const char* path() const = 0;

  /// A list: begin, add each item, publish. A list that breaks off is simply begun again.
  virtual void begin() = 0;
  virtual core::Result<void> add(const Json& item) = 0;
  virtual void publish() = 0;

  /// Single changes. An object that no longer concerns us counts as deleted.
  virtual core::Result<void> changed(const Json& object) = 0;
  virtual core::Result<void> deleted(const Json& object) = 0;
};

/// The observer must outlive the feeds.
std::vector<std::unique_ptr<Feed>> make_feeds(const std::string& cluster, Observer& observer);

}  // namespace kindlb::kube
