#include "kindlb/conformance/result_files.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace kindlb::conformance {

namespace {
using core::Error;
using core::ErrorKind;

Error not_writable(const std::string& path) {
  return {ErrorKind::Invalid, "write " + path,
          "cannot be written; name a file in an existing, writable folder"};
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool can_be_rewritten(const std::string& path) {
  std::error_code ignored;
  return !exists(path) || std::filesystem::is_regular_file(path, ignored);
}
}  // namespace

ResultFiles::ResultFiles(const std::string& junit, const std::string& json) {
  if (!junit.empty()) files_.push_back({junit, to_junit, ""});
  if (!json.empty()) files_.push_back({json, to_json, ""});
}

core::Result<void> ResultFiles::check() const {
  for (const auto& file : files_) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file.path, ignored)) return not_writable(file.path);
    if (!can_be_rewritten(file.path)) continue;  // opening a pipe would block until it has a reader
    const bool there = exists(file.path);
    if (!std::ofstream(file.path, std::ios::app).good()) return not_writable(file.path);
    if (!there) std::filesystem::remove(file.path, ignored);
  }
  return {};
}

void ResultFiles::remove_old() const {
  std::error_code ignored;
  for (const auto& file : files_)
    if (can_be_rewritten(file.path)) std::filesystem::remove(file.path, ignored);
}

void ResultFiles::write_early(const conformance::Report& report) {
  for (auto& file : files_)
    if (can_be_rewritten(file.path)) (void)put(file, report);
}

std::vector<Error> ResultFiles::write(const conformance::Report& report) {
  std::vector<Error> out;
  for (auto& file : files_)
    if (!put(file, report)) out.push_back(not_writable(file.path));
  return out;
}

bool ResultFiles::put(File& file, const conformance::Report& report) {
  auto text = file.text_of(report);
  if (text == file.written) return true;
  std::ofstream out(file.path);
  out << text;
  if (!out.flush()) return false;
  file.written = std::move(text);
  return true;
}

}  // namespace kindlb::conformance
