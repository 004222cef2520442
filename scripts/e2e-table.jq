# A line for each test that ran: what became of it, seconds, name, and why or what else there is to say.
def name: ((.ContainerHierarchyTexts // []) + [if .LeafNodeText == "" then .LeafNodeType else .LeafNodeText end]) | join(" ")
  | gsub("^\\[[^]]*\\] |\\[Slow\\] ?|\\[Feature:[^]]*\\] ?"; "");
def counted($what): [.CapturedGinkgoWriterOutput // "" | scan($what + ": (\\d+)") | .[0] | tonumber] | add // 0;
def note:
  if .Failure.Message then .Failure.Message | gsub("\\s+"; " ") | .[0:160]
  elif counted("total HTTP requests") > 0 then
    "\(counted("total HTTP requests")) requests, lost \(counted("Network errors") + counted("HTTP errors"))"
  else "" end;
# Two tests fail here and there whoever the provider is. What was seen must show that; nothing else counts as such.
def last_seen($what): [.CapturedGinkgoWriterOutput // "" | scan($what)] | last;
# Nodes of two families are asked for the health check port of a Service of IPv4, which kube-proxy opens on addresses of that
# family alone (tcp4): it fails while it asks one of IPv6.
def asks_other_family:
  $family == "dual" and .LeafNodeText == "should only target nodes with endpoints"
  and (last_seen("Health checking .*, http://(\\S+)/healthz, expectedSuccess (\\w+)")
    | . != null and (.[0] | startswith("[")) and .[1] == "true");
# A pod is told to fetch an IPv6 address without the brackets that a URL needs: it fails while it tries.
def asks_without_brackets:
  $family == "ipv6" and (.LeafNodeText | startswith("should only allow access from service loadbalancer source ranges"))
  and (last_seen("Expect target to be (\\w+)[^+]*\\+ wget -T 5 -qO- (\\S+)")
    | . != null and .[0] == "reachable" and (.[1] | test("^[0-9a-f]+:")));
def hopeless: .State == "failed" and (asks_other_family or asks_without_brackets);
def state: if hopeless then "hopeless" else .State end;
def padded($width): tostring | . + " " * ([$width - length, 0] | max);

# Tests, and what failed before or after them: a suite's own preparations, or the suite as such.
def suite_failures: .SpecialSuiteFailureReasons[]? | {LeafNodeText: "the suite", State: "failed", Failure: {Message: .}};
[.[] | suite_failures, (.SpecReports[] |
  select(if .LeafNodeType == "It" then .State != "skipped" or .Failure.Message else .State | IN("passed", "skipped") | not end))]
| (sort_by(name)[] | "\(state | padded(8)) \((.RunTime // 0) / 1e9 | floor | padded(5)) \(name)" + (note | if . == "" then . else "  (" + . + ")" end)),
  ([group_by(state)[] | "\(length) \(.[0] | state)"] | join(", "))
