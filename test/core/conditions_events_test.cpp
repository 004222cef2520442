// Each change of state is an Event; nothing else is.
#include "core/conditions_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

std::vector<std::string> events(const Service& before, const Progress& after,
                                const std::string& hash = kHash, Timestamp now = at(200)) {
  std::vector<std::string> out;
  const auto write = next_status(before, hash, after, now);
  if (!write) return out;
  for (const auto& event : events_for(before, *write))
    out.push_back(shown(event.type) + " " + event.reason);
  return out;
}

Progress degraded(Phase phase) {
  auto out = progress(phase);
  out.degraded = one_degradation();
  return out;
}

using Want = std::vector<std::string>;

}  // namespace

TEST_CASE("events of each change of state") {
  struct Case {
    const char* name;
    Service before;
    Progress after;
    const char* hash;
    Want want;
  };
  const auto working = in_phase(fresh(), Phase::Working);
  const auto failing = in_phase(working, Phase::Failing, at(120));
  const auto updating = in_phase(serving(), Phase::Updating, at(120), kOtherHash);
  const auto failing_old = in_phase(updating, Phase::UpdateFailing, at(130), kOtherHash);
  const auto was_degraded = accepted(fresh(), written(fresh(), degraded(Phase::Serving), at(100)));
  const Case cases[] = {
      {"seen, work begins", fresh(), progress(Phase::Working), kHash, {"Normal Provisioning"}},
      {"seen and refused", fresh(), progress(Phase::Refused), kHash, {"Warning Unsupported"}},
      {"seen and ready at once", fresh(), progress(Phase::Serving), kHash, {"Normal Serving"}},
      {"work finished", working, progress(Phase::Serving), kHash, {"Normal Serving"}},
      {"work failed", working, progress(Phase::Failing), kHash, {"Warning Infrastructure"}},
      {"work given up", working, progress(Phase::GivenUp), kHash, {"Warning Infrastructure"}},
      {"changed while being worked on", working, progress(Phase::Working), kOtherHash, {}},
      {"failed, the same again", failing, progress(Phase::Failing), kHash, {}},
      {"failed, for another reason",
       failing,
       progress(Phase::Failing, "Other."),
       kHash,
       {"Warning Infrastructure"}},
      {"failed, then changed: work begins again",
       failing,
       progress(Phase::Working),
       kOtherHash,
       {"Normal Provisioning"}},
      {"failed, then well", failing, progress(Phase::Serving), kHash, {"Normal Serving"}},
      {"update begins", serving(), progress(Phase::Updating), kOtherHash, {"Normal Provisioning"}},
      {"update in effect", updating, progress(Phase::Serving), kOtherHash, {"Normal Updated"}},
      {"update rejected",
       updating,
       progress(Phase::UpdateFailing),
       kOtherHash,
       {"Warning Infrastructure"}},
      {"update rejected, the same again",
       failing_old,
       progress(Phase::UpdateFailing),
       kOtherHash,
       {}},
      {"update rejected, then in effect",
       failing_old,
       progress(Phase::Serving),
       kOtherHash,
       {"Normal Updated"}},
      {"update interrupts",
       serving(),
       progress(Phase::Working),
       kOtherHash,
       {"Normal Provisioning"}},
      {"update without work", serving(), progress(Phase::Serving), kOtherHash, {}},
      {"proxy died", serving(), progress(Phase::Failing), kHash, {"Warning Infrastructure"}},
      {"an update makes it refused",
       serving(),
       progress(Phase::Refused),
       kOtherHash,
       {"Warning Unsupported"}},
      {"nothing changed", serving(), progress(Phase::Serving), kHash, {}},
      {"served degraded",
       working,
       degraded(Phase::Serving),
       kHash,
       {"Normal Serving", "Warning Degraded"}},
      {"still degraded", was_degraded, degraded(Phase::Serving), kOtherHash, {}},
      {"no longer degraded", was_degraded, progress(Phase::Serving), kOtherHash, {}},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(events(c.before, c.after, c.hash) == c.want);
    }
  }
}

TEST_CASE("events carry the words of their condition") {
  const auto write = written(fresh(), progress(Phase::Refused, "SCTP/9 is not supported."));
  CHECK(events_for(fresh(), write) ==
        std::vector<EventNote>{{EventType::Warning, "Unsupported", "SCTP/9 is not supported."}});

  const auto served = written(fresh(), degraded(Phase::Serving));
  const auto notes = events_for(fresh(), served);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].message == serving_of(served).message);
  CHECK(notes[1].message == "No affinity.");
}

TEST_CASE("an update that begins has the message of Provisioning") {
  const auto write =
      written(serving(), progress(Phase::Updating, "Being set up."), at(200), kOtherHash);
  CHECK(events_for(serving(), write) ==
        std::vector<EventNote>{{EventType::Normal, "Provisioning", "Being set up."}});
}
