// `kindlb sandbox scale|kill|ready|unready`: what a presenter makes happen in a running sandbox.

#include "commands.hpp"
#include "kindlb/http/client.hpp"
#include "kindlb/sandbox/workloads.hpp"
#include "startup.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace kindlb::app {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using Json = nlohmann::json;

Result<void> annotate(const Options& options, const std::string& path, const char* name,
                      const Json& value) {
  auto client = http::make_client({.url = "http://" + options.sandbox.listen});
  if (!client) return client.error();
  const Json patch{{"metadata", {{"annotations", {{name, value}}}}}};
  const auto answer =
      (*client)->send({.method = "PATCH",
                       .target = path,
                       .headers = {{"Content-Type", "application/merge-patch+json"}},
                       .body = patch.dump()});
  if (!answer)
    return Error{answer.error().kind, "reach the sandbox at " + options.sandbox.listen,
                 answer.error().detail + "; is `kindlb sandbox` running there?"};
  if (answer->status / 100 == 2) return {};
  const auto status = Json::parse(answer->body, nullptr, false);
  return Error{http::kind_of_status(answer->status), "ask the sandbox",
               status.is_object() ? status.value("message", answer->body) : answer->body};
}

Result<void> scale(const Options& options) {
  const auto& text = options.sandbox.argument;
  const bool number =
      !text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!number || std::stoi(text) > sandbox::kMaxReplicas)
    return Error{ErrorKind::Invalid, "scale to " + text,
                 "give a number from 0 to " + std::to_string(sandbox::kMaxReplicas)};
  return annotate(options, "/api/v1/namespaces/default", sandbox::kReplicasAnnotation, text);
}

/// On the pod that was named.
Result<void> annotate_pod(const Options& options, const char* name, const Json& value) {
  return annotate(options, "/api/v1/namespaces/default/pods/" + options.sandbox.argument, name,
                  value);
}

Result<void> run_verb(const Options& options) {
  const auto& verb = options.sandbox.verb;
  if (verb == "scale") return scale(options);
  if (verb == "kill") return annotate_pod(options, sandbox::kKillAnnotation, "true");
  return annotate_pod(options, sandbox::kUnreadyAnnotation,
                      verb == "ready" ? Json() : Json("true"));
}
}  // namespace

int sandbox_command(const Options& options) {
  if (const auto done = run_verb(options); !done) return report_error(done.error());
  std::printf("%s %s\n", options.sandbox.verb.c_str(), options.sandbox.argument.c_str());
  return 0;
}

}  // namespace kindlb::app
