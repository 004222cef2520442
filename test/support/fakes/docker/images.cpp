#include "support/fakes/docker/images.hpp"

namespace kindlb::testing {

using core::Result;

void FakeImages::add(const std::string& reference) {
  const std::lock_guard lock(mutex_);
  images_[reference].image = {.id = "sha256:" + calls_.new_id(), .tags = {reference}};
}

void FakeImages::add_to_registry(const std::string& reference) {
  const std::lock_guard lock(mutex_);
  registry_.insert(reference);
}

std::optional<docker::Image> FakeImages::find(const std::string& reference) const {
  const std::lock_guard lock(mutex_);
  const auto found = images_.find(reference);
  return found == images_.end() ? std::nullopt : std::optional(found->second.image);
}

std::optional<std::string> FakeImages::build_context(const std::string& tag) const {
  const std::lock_guard lock(mutex_);
  const auto found = images_.find(tag);
  return found == images_.end() ? std::nullopt : std::optional(found->second.context);
}

Result<docker::Image> FakeImages::inspect(const std::string& reference) {
  if (auto fault = calls_.enter("inspect_image", reference)) return *fault;
  auto found = find(reference);
  if (!found) return not_found("inspect_image", reference);
  return *std::move(found);
}

Result<std::vector<docker::Image>> FakeImages::list(const std::vector<std::string>& labels) {
  if (auto fault = calls_.enter("list_images", "")) return *fault;
  const std::lock_guard lock(mutex_);
  std::vector<docker::Image> out;
  for (const auto& [reference, entry] : images_)
    if (has_labels(entry.labels, labels)) out.push_back(entry.image);
  return out;
}

Result<void> FakeImages::pull(const std::string& reference, const docker::Progress& progress,
                              std::stop_token /*stop*/) {
  if (auto fault = calls_.enter("pull_image", reference)) return *fault;
  {
    const std::lock_guard lock(mutex_);
    if (!registry_.contains(reference)) return not_found("pull_image", reference);
  }
  add(reference);
  if (progress) progress("Pulled " + reference);
  return {};
}

Result<void> FakeImages::build(const std::string& tag, const std::string& context_tar,
                               const docker::Labels& labels, const docker::Progress& progress,
                               std::stop_token /*stop*/) {
  if (auto fault = calls_.enter("build_image", tag)) return *fault;
  add(tag);
  const std::lock_guard lock(mutex_);
  images_[tag].labels = labels;
  images_[tag].context = context_tar;
  if (progress) progress("Successfully tagged " + tag);
  return {};
}

Result<void> FakeImages::remove(const std::string& reference) {
  if (auto fault = calls_.enter("remove_image", reference)) return *fault;
  const std::lock_guard lock(mutex_);
  if (images_.erase(reference) == 0) return not_found("remove_image", reference);
  return {};
}

}  // namespace kindlb::testing
