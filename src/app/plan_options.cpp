#include "flags.hpp"

namespace kindlb::app {

namespace {

constexpr const char* kPlanExamples =
    "Examples:\n"
    "  kindlb plan -f web.yaml                  one block per Service, for people\n"
    "  kindlb plan -f web.yaml --profile gce    how would it fare at GCE?\n"
    "  kubectl get services,endpointslices,nodes -A -o yaml | kindlb plan -f - -o json\n"
    "                                           what is in a cluster, as JSON\n"
    "  kindlb plan -f manifests/ --exit-code    in CI: 1 if anything is not simply served\n"
    "Exit codes: 0 when the input could be read, whatever it says; 2 when it could not.\n"
    "Services get addresses of kind's usual network, one node is assumed, and nobody behind the\n"
    "Services; EndpointSlices and Nodes in the files, or --cluster, say otherwise.";

}  // namespace

void add_plan_flags(CLI::App& plan, PlanOptions& options) {
  constexpr const char* kGroup = "Input and output";
  plan.footer(kPlanExamples);
  plan.add_option("-f,--filename", options.files,
                  "Manifests: a YAML or JSON file, a folder of them, or - for standard input; "
                  "repeatable")
      ->allow_extra_args(false)
      ->option_text("FILE")
      ->group(kGroup);
  plan.add_option("--cluster", options.cluster,
                  "File with facts about the cluster: subnets, addresses taken, families, nodes, "
                  "endpoints")
      ->option_text("FACTS")
      ->group(kGroup);
  add_choice<PlanFormat>(
      plan, "-o,--output", options.format,
      {{"text", PlanFormat::Text}, {"json", PlanFormat::Json}, {"yaml", PlanFormat::Yaml}},
      "How to print it [text]")
      ->group(kGroup);
  plan.add_flag("--exit-code", options.exit_code,
                "Exit with 1 when a Service would be degraded, refused, or would not work here")
      ->group(kGroup);
}

}  // namespace kindlb::app
