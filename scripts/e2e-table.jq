# A line for each test that ran: what became of it, seconds, name, and why or what else there is to say.
def name: (.ContainerHierarchyTexts + [.LeafNodeText]) | join(" ") | gsub("^\\[[^]]*\\] |\\[Slow\\] ?|\\[Feature:[^]]*\\] ?"; "");
def counted($what): [.CapturedGinkgoWriterOutput // "" | scan($what + ": (\\d+)") | .[0] | tonumber] | add // 0;
def note:
  if .Failure.Message then .Failure.Message | gsub("\\s+"; " ") | .[0:160]
  elif counted("total HTTP requests") > 0 then
    "\(counted("total HTTP requests")) requests, lost \(counted("Network errors") + counted("HTTP errors"))"
  else "" end;
def padded($width): tostring | . + " " * ([$width - length, 0] | max);

[.[].SpecReports[] | select(.LeafNodeType == "It" and (.State != "skipped" or .Failure.Message))]
| (sort_by(name)[] | "\(.State | padded(8)) \(.RunTime / 1e9 | floor | padded(5)) \(name)" + (note | if . == "" then . else "  (" + . + ")" end)),
  ([group_by(.State)[] | "\(length) \(.[0].State)"] | join(", "))
