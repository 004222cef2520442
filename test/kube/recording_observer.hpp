#pragma once
// An observer that keeps a journal of its calls and lets a test wait for a line of it.

#include "kindlb/kube/api.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace kindlb::test {

class RecordingObserver final : public kube::Observer {
 public:
  void services_listed(std::vector<core::Service> all) override {
    std::vector<std::string> names;
    for (const auto& service : all) names.push_back(service.key.ns + "/" + service.key.name);
    write("services:", names);
  }
  void service_changed(core::Service service) override {
    const auto line = "service " + service.key.ns + "/" + service.key.name;
    const std::lock_guard lock(mutex_);
    last_service_ = std::move(service);
    append(line);
  }
  void service_deleted(const core::ServiceKey& key) override {
    write("no service " + key.ns + "/" + key.name);
  }
  void slices_listed(std::vector<core::EndpointSlice> all) override {
    std::vector<std::string> names;
    std::size_t endpoints = 0;
    for (const auto& slice : all) {
      names.push_back(slice.service.ns + "/" + slice.name);
      endpoints += slice.endpoints.size();
    }
    write("slices:", names);
    write("endpoints: " + std::to_string(endpoints));
  }
  void slice_changed(core::EndpointSlice slice) override {
    write("slice " + slice.service.ns + "/" + slice.name + " " +
          std::to_string(slice.endpoints.size()));
  }
  void slice_deleted(const std::string& ns, const std::string& name) override {
    write("no slice " + ns + "/" + name);
  }
  void nodes_listed(std::vector<core::Node> all) override {
    std::vector<std::string> names;
    for (const auto& node : all) names.push_back(node.name);
    write("nodes:", names);
  }
  void node_changed(core::Node node) override {
    write("node " + node.name + (node.ready ? " ready" : ""));
  }
  void node_deleted(const std::string& name) override { write("no node " + name); }
  void watch_state(const std::string& resource, const core::Result<void>& state) override {
    write("state " + resource + " " + (state ? "ok" : core::name_of(state.error().kind)));
    if (state) return;
    const std::lock_guard lock(mutex_);
    last_error_ = state.error().text();
  }

  /// Whether `line` comes, or has come, at least `times` times before the deadline.
  bool wait_for(const std::string& line, std::ptrdiff_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      return std::count(journal_.begin(), journal_.end(), line) >= times;
    });
  }
  std::ptrdiff_t count(const std::string& line) const {
    const std::lock_guard lock(mutex_);
    return std::count(journal_.begin(), journal_.end(), line);
  }
  core::Service last_service() const {
    const std::lock_guard lock(mutex_);
    return last_service_;
  }
  std::string last_error() const {
    const std::lock_guard lock(mutex_);
    return last_error_;
  }
  std::string journal() const {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const auto& line : journal_) all += line + "\n";
    return all;
  }

 private:
  void write(std::string line, std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    for (const auto& name : names) line += " " + name;
    write(line);
  }
  void write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    append(line);
  }
  void append(const std::string& line) {
    journal_.push_back(line);
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> journal_;
  core::Service last_service_;
  std::string last_error_;
};

}  // namespace kindlb::test
