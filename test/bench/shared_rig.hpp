#pragma once
// What the benchmarks of shared proxies have in common: a stage, a kindlb on it, and Services,
// numbered from 0, of which there are ever more. Errors are exceptions.

#include "bench/process.hpp"
#include "bench/stage.hpp"
#include "bench/witness.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/proxy/containers.hpp"

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace kindlb::bench {

class SharedRig {
 public:
  /// `benchmark`: its name, for kindlb's log. The engine must outlive the rig.
  SharedRig(docker::Engine& engine, const std::string& benchmark);
  ~SharedRig();
  SharedRig(const SharedRig&) = delete;
  SharedRig& operator=(const SharedRig&) = delete;

  Stage& stage() { return *stage_; }
  Witness& witness() { return witness_; }

  /// Start a kindlb and wait until its warm proxies are ready. There must be no Services yet; the
  /// names of those to come begin with `prefix`.
  std::unique_ptr<Process> start(const std::string& per_proxy, const std::string& prefix);
  /// Return the proxies on the stage's network.
  std::vector<proxy::Proxy> proxies();

  std::string name_of(int i) const;
  const std::string& address_of(int i) const;
  int count() const { return created_; }
  /// Create Services up to that many, print and return the seconds until all answer.
  double grow(int count);
  /// Delete all Services, and wait until they are gone.
  void leave();

 private:
  int live();
  void create(int from, int to);
  void check_route(const std::string& ip);

  docker::Engine& engine_;
  std::unique_ptr<Stage> stage_;
  Witness witness_;
  std::string log_;
  std::string prefix_;
  int created_ = 0;
  int failed_ = 0;
  std::set<std::string> checked_;
  std::vector<std::string> addresses_;
};

}  // namespace kindlb::bench
