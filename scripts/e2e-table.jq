# A line for each test that ran: result, seconds, name, and the reason or other remarks.
def name: ((.ContainerHierarchyTexts // []) + [if .LeafNodeText == "" then .LeafNodeType else .LeafNodeText end]) | join(" ")
  | gsub("^\\[[^]]*\\] |\\[Slow\\] ?|\\[Feature:[^]]*\\] ?"; "");
def counted($what): [.CapturedGinkgoWriterOutput // "" | scan($what + ": (\\d+)") | .[0] | tonumber] | add // 0;
def note:
  if .Failure.Message then .Failure.Message | gsub("\\s+"; " ") | .[0:160]
  elif counted("total HTTP requests") > 0 then
    "\(counted("total HTTP requests")) requests, lost \(counted("Network errors") + counted("HTTP errors"))"
  else "" end;
# Two tests fail on some clusters with every provider. Their output must show this reason; no other failure is excused.
def last_seen($what): [.CapturedGinkgoWriterOutput // "" | scan($what)] | last;
# The health check port of an IPv4 Service is requested from nodes of both families, and kube-proxy opens it on IPv4 addresses
# only: the test fails while it asks an IPv6 address.
def asks_other_family:
  $family == "dual" and .LeafNodeText == "should only target nodes with endpoints"
  and (last_seen("Health checking .*, http://(\\S+)/healthz, expectedSuccess (\\w+)")
    | . != null and (.[0] | startswith("[")) and .[1] == "true");
# A pod fetches an IPv6 address without the brackets that a URL needs, and fails.
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
