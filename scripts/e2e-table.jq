# A line for each test that ran: what became of it, seconds, name, and why or what else there is to say.
def name: (.ContainerHierarchyTexts + [.LeafNodeText]) | join(" ") | gsub("^\\[[^]]*\\] |\\[Slow\\] ?|\\[Feature:[^]]*\\] ?"; "");
def counted($what): [.CapturedGinkgoWriterOutput // "" | scan($what + ": (\\d+)") | .[0] | tonumber] | add // 0;
def note:
  if .Failure.Message then .Failure.Message | gsub("\\s+"; " ") | .[0:160]
  elif counted("total HTTP requests") > 0 then
    "\(counted("total HTTP requests")) requests, lost \(counted("Network errors") + counted("HTTP errors"))"
  else "" end;
# Whoever the provider: the test asks nodes of two families for the health check port of a Service of one family, and
# kube-proxy opens it on addresses of that family alone (tcp4 or tcp6). Nothing but this very failure counts as such.
def hopeless:
  $family == "dual" and .State == "failed" and .LeafNodeText == "should only target nodes with endpoints"
  and (.Failure.Message | test("succeed=true on [0-9a-f]*:[0-9a-f:]*:[0-9]+/healthz, got 0"));
def state: if hopeless then "hopeless" else .State end;
def padded($width): tostring | . + " " * ([$width - length, 0] | max);

[.[].SpecReports[] | select(.LeafNodeType == "It" and (.State != "skipped" or .Failure.Message))]
| (sort_by(name)[] | "\(state | padded(8)) \(.RunTime / 1e9 | floor | padded(5)) \(name)" + (note | if . == "" then . else "  (" + . + ")" end)),
  ([group_by(state)[] | "\(length) \(.[0] | state)"] | join(", "))
