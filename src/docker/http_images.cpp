#include "codec.hpp"
#include "http_engine.hpp"
#include "image_reference.hpp"
#include "kindlb/http/url.hpp"

#include <fmt/format.h>

namespace kindlb::docker {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

// The engine sends the headers of a build's answer with the first output, after it has read the
// whole context.
constexpr std::chrono::minutes kBuildHeaderTimeout{10};
// A layer may take this long to arrive or to be unpacked without any output.
constexpr std::chrono::minutes kBuildIdleTimeout{10};

/// References contain slashes and colons, and the engine's router expects them unescaped.
std::string image_path(const std::string& reference, std::string_view rest) {
  return fmt::format("/images/{}{}", http::url_escaped(reference, "/:@"), rest);
}

/// Pulls and builds take minutes: only silence means that something is wrong.
http::Request with_long_timeouts(http::Request request) {
  request.timeout = kBuildHeaderTimeout;
  request.idle_timeout = kBuildIdleTimeout;
  return request;
}

}  // namespace

Result<Image> HttpImages::inspect(const std::string& reference) {
  return transport_.fetch(get(image_path(reference, "/json")), "inspect image " + reference,
                          decode_image);
}

Result<std::vector<Image>> HttpImages::list(const std::vector<std::string>& labels) {
  const Query query = {{"filters", encode_filters({{"label", labels}})}};
  return transport_.fetch(get(with_query("/images/json", query)), "list images", decode_image_list);
}

Result<void> HttpImages::pull(const std::string& reference, const Progress& progress,
                              std::stop_token stop) {
  const auto [name, version] = split_reference(reference);
  auto request = post(with_query("/images/create", {{"fromImage", name}, {"tag", version}}));
  return run_with_progress(with_long_timeouts(std::move(request)), "pull image " + reference,
                           progress, stop);
}

Result<void> HttpImages::build(const std::string& tag, const std::string& context_tar,
                               const Labels& labels, const Progress& progress,
                               std::stop_token stop) {
  const Query query = {{"t", tag}, {"labels", encode_labels(labels)}, {"forcerm", "1"}};
  http::Request request{.method = "POST",
                        .target = with_query("/build", query),
                        .headers = {{"Content-Type", "application/x-tar"}},
                        .body = context_tar};
  return run_with_progress(with_long_timeouts(std::move(request)), "build image " + tag, progress,
                           stop);
}

Result<void> HttpImages::run_with_progress(http::Request request, const std::string& operation,
                                           const Progress& progress, const std::stop_token& stop) {
  std::string failure;
  const auto on_line = [&](std::string_view text) {
    auto line = decode_progress(text);
    if (!line) return true;
    if (failure.empty()) failure = line->error;
    if (progress && !line->text.empty()) progress(line->text);
    return true;
  };
  auto ended = transport_.lines(std::move(request), operation, on_line, stop);
  // The engine sent status 200 before the work began: a failure is only visible as a line.
  if (!failure.empty()) return Error{ErrorKind::Invalid, operation, failure};
  return ended;
}

Result<void> HttpImages::remove(const std::string& reference) {
  return transport_.command(http_delete(image_path(reference, "")), "remove image " + reference);
}

}  // namespace kindlb::docker
