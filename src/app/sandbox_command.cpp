// `kindlb sandbox scale|kill|ready|unready`: changes a sandbox that another process runs. The verbs
// only set annotations, which sandbox/workloads acts on; kubectl could do the same.

#include "commands.hpp"
#include "kindlb/http/client.hpp"
#include "kindlb/json/json.hpp"
#include "kindlb/sandbox/workloads.hpp"
#include "startup.hpp"

#include <cstdio>

namespace kindlb::app {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using json::Json;

/// Set an annotation by a merge patch; a null value removes it.
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
  const auto message = json::text_at(json::parse_bounded(answer->body), {"message"});
  return Error{http::kind_of_status(answer->status), "change the sandbox",
               message.empty() ? answer->body : message};
}

/// Checked here, because the workloads fall back to the default for a value that is not a number.
Result<void> scale(const Options& options) {
  const auto& text = options.sandbox.argument;
  const bool number =
      !text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!number || std::stoi(text) > sandbox::kMaxReplicas)
    return Error{ErrorKind::Invalid, "scale to " + text,
                 "give a number from 0 to " + std::to_string(sandbox::kMaxReplicas)};
  return annotate(options, "/api/v1/namespaces/default", sandbox::kReplicasAnnotation, text);
}

Result<void> annotate_pod(const Options& options, const char* name, const Json& value) {
  return annotate(options, "/api/v1/namespaces/default/pods/" + options.sandbox.argument, name,
                  value);
}

/// ready removes the annotation that unready sets.
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
