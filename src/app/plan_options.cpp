#include "flags.hpp"

namespace kindlb::app {

namespace {

constexpr const char* kPlanExamples =
    "Examples:\n"
    "  kindlb plan -f web.yaml                one block of text per Service\n"
    "  kindlb plan -f web.yaml --profile gce  what would happen on GCE\n"
    "  kindlb plan -f manifests/ --exit-code  for CI: exit with 1 unless everything is served\n"
    "  kubectl get services,endpointslices,nodes -A -o yaml | kindlb plan -f - -o json\n"
    "                                         the Services of a cluster, as JSON\n"
    "Exit codes: 0 if the input could be read, whatever the result; 2 if it could not.\n"
    "The plan assumes kind's usual network, one node, and Services without endpoints, unless the\n"
    "input has EndpointSlices and Nodes, or --cluster describes them.";

}  // namespace

void add_plan_flags(CLI::App& plan, PlanOptions& options) {
  constexpr const char* kGroup = "Input and output";
  plan.footer(kPlanExamples);
  plan.add_option("-f,--filename", options.files,
                  "The manifests to read: a YAML or JSON file, a folder of them, or - for standard "
                  "input; repeatable")
      ->allow_extra_args(false)
      ->option_text("FILE")
      ->group(kGroup);
  plan.add_option("--cluster", options.cluster,
                  "A file that describes the cluster: subnets, addresses in use, IP families, "
                  "nodes, endpoints")
      ->option_text("FACTS")
      ->group(kGroup);
  add_choice<PlanFormat>(
      plan, "-o,--output", options.format,
      {{"text", PlanFormat::Text}, {"json", PlanFormat::Json}, {"yaml", PlanFormat::Yaml}},
      "The output format [text]")
      ->group(kGroup);
  plan.add_flag("--exit-code", options.exit_code,
                "Exit with 1 if a Service would be degraded or refused, or would not work here")
      ->group(kGroup);
}

}  // namespace kindlb::app
