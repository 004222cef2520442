#include "envoy/update_batch.hpp"

namespace kindlb::agent {

std::optional<std::string> watch_limit_problem(const std::vector<const Request*>& requests,
                                               const WatchBudget& budget) {
  const auto& clusters = budget.published.clusters;
  std::size_t more = 0;
  for (const auto* request : requests)
    for (const auto& cluster : request->unit.clusters) {
      const auto former = clusters.find(cluster.name);
      if (former == clusters.end() || former->second != cluster.body) ++more;
    }
  const auto watched = clusters.size() + more;
  if (more == 0 || watched <= budget.limit) return std::nullopt;
  return "Envoy would have to watch " + std::to_string(watched) +
         " endpoint files, but the kernel allows " + std::to_string(budget.limit) +
         "; raise the sysctl fs.inotify.max_user_instances on the Docker host";
}

std::vector<const Request*> next_batch(const std::vector<const Request*>& queued,
                                       const WatchBudget& budget) {
  std::vector<const Request*> batch;
  for (const auto* request : queued) {
    if (request->alone && !batch.empty()) continue;
    batch.push_back(request);
    if (batch.size() > 1 && watch_limit_problem(batch, budget)) {
      batch.pop_back();
      break;
    }
    if (request->alone) break;
  }
  return batch;
}

std::vector<Unacceptable> find_unacceptable(const std::vector<const Request*>& batch,
                                            XdsSnapshot others, const WatchBudget& budget) {
  std::vector<Unacceptable> out;
  for (const auto* request : batch) {
    auto problem = batch.size() == 1 ? watch_limit_problem(batch, budget) : std::nullopt;
    std::string conflict;
    auto with_request = others;
    if (!add_unit(with_request, request->unit, conflict))
      problem = conflict + " is used by another Service";
    if (problem)
      out.push_back({request->key, *problem});
    else
      others = std::move(with_request);
  }
  return out;
}

}  // namespace kindlb::agent
