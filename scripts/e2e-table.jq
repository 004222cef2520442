# A line for each test that ran: what became of it, seconds, name, and why or what else there is to say.
def name: (.ContainerHierarchyTexts + [.LeafNodeText]) | join(" ") | gsub("^\\[[^]]*\\] |\\[Slow\\] ?|\\[Feature:[^]]*\\] ?"; "");
def counted($what): [.CapturedGinkgoWriterOutput // "" | scan($what + ": (\\d+)") | .[0] | tonumber] | add // 0;
def note:
  if .Failure.Message then .Failure.Message | gsub("\\s+"; " ") | .[0:160]
  elif counted("total HTTP requests") > 0 then
    "\(counted("total HTTP requests")) requests, lost \(counted("Network errors") + counted("HTTP errors"))"
  else "" end;
# Whoever the provider: the test asks nodes of two families for the health check port of a Service of IPv4, and kube-proxy
# opens it on addresses of that family alone (tcp4). Failing while it asks one of IPv6 counts as such, and nothing else.
def asked: [.CapturedGinkgoWriterOutput // "" | scan("Health checking .*, http://(\\S+)/healthz, expectedSuccess (\\w+)")] | last;
def hopeless:
  $family == "dual" and .State == "failed" and .LeafNodeText == "should only target nodes with endpoints"
  and (asked | . != null and (.[0] | startswith("[")) and .[1] == "true");
def state: if hopeless then "hopeless" else .State end;
def padded($width): tostring | . + " " * ([$width - length, 0] | max);

[.[].SpecReports[] | select(.LeafNodeType == "It" and (.State != "skipped" or .Failure.Message))]
| (sort_by(name)[] | "\(state | padded(8)) \(.RunTime / 1e9 | floor | padded(5)) \(name)" + (note | if . == "" then . else "  (" + . + ")" end)),
  ([group_by(state)[] | "\(length) \(.[0] | state)"] | join(", "))
