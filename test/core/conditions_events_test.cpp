// Each change of state is an Event; nothing else is.
#include "core/conditions_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

std::vector<std::string> events(const Service& before, const Standing& stands,
                                const std::string& hash = kHash, Timestamp now = at(200)) {
  std::vector<std::string> out;
  const auto write = next_status(before, hash, stands, now);
  if (!write) return out;
  for (const auto& event : events_for(before, *write))
    out.push_back(shown(event.type) + " " + event.reason);
  return out;
}

Standing degraded(Stage stage) {
  auto out = standing(stage);
  out.degraded = one_degradation();
  return out;
}

using Want = std::vector<std::string>;

}  // namespace

TEST_CASE("events of each change of state") {
  struct Case {
    const char* name;
    Service before;
    Standing stands;
    const char* hash;
    Want want;
  };
  const auto working = in_stage(fresh(), Stage::Working);
  const auto failing = in_stage(working, Stage::Failing, at(120));
  const auto updating = in_stage(serving(), Stage::Updating, at(120), kOtherHash);
  const auto failing_old = in_stage(updating, Stage::FailingOld, at(130), kOtherHash);
  const auto was_degraded = accepted(fresh(), written(fresh(), degraded(Stage::Serving), at(100)));
  const Case cases[] = {
      {"seen, work begins", fresh(), standing(Stage::Working), kHash, {"Normal Provisioning"}},
      {"seen and refused", fresh(), standing(Stage::Refused), kHash, {"Warning Unsupported"}},
      {"seen and ready at once", fresh(), standing(Stage::Serving), kHash, {"Normal Serving"}},
      {"work finished", working, standing(Stage::Serving), kHash, {"Normal Serving"}},
      {"work failed", working, standing(Stage::Failing), kHash, {"Warning Infrastructure"}},
      {"work given up", working, standing(Stage::GivenUp), kHash, {"Warning Infrastructure"}},
      {"changed while being worked on", working, standing(Stage::Working), kOtherHash, {}},
      {"failed, the same again", failing, standing(Stage::Failing), kHash, {}},
      {"failed, for another reason",
       failing,
       standing(Stage::Failing, "Other."),
       kHash,
       {"Warning Infrastructure"}},
      {"failed, then changed: work begins again",
       failing,
       standing(Stage::Working),
       kOtherHash,
       {"Normal Provisioning"}},
      {"failed, then well", failing, standing(Stage::Serving), kHash, {"Normal Serving"}},
      {"update begins", serving(), standing(Stage::Updating), kOtherHash, {"Normal Provisioning"}},
      {"update in effect", updating, standing(Stage::Serving), kOtherHash, {"Normal Updated"}},
      {"update rejected",
       updating,
       standing(Stage::FailingOld),
       kOtherHash,
       {"Warning Infrastructure"}},
      {"update rejected, the same again", failing_old, standing(Stage::FailingOld), kOtherHash, {}},
      {"update rejected, then in effect",
       failing_old,
       standing(Stage::Serving),
       kOtherHash,
       {"Normal Updated"}},
      {"update interrupts",
       serving(),
       standing(Stage::Working),
       kOtherHash,
       {"Normal Provisioning"}},
      {"update without work", serving(), standing(Stage::Serving), kOtherHash, {}},
      {"proxy died", serving(), standing(Stage::Failing), kHash, {"Warning Infrastructure"}},
      {"an update makes it refused",
       serving(),
       standing(Stage::Refused),
       kOtherHash,
       {"Warning Unsupported"}},
      {"nothing changed", serving(), standing(Stage::Serving), kHash, {}},
      {"served degraded",
       working,
       degraded(Stage::Serving),
       kHash,
       {"Normal Serving", "Warning Degraded"}},
      {"still degraded", was_degraded, degraded(Stage::Serving), kOtherHash, {}},
      {"no longer degraded", was_degraded, standing(Stage::Serving), kOtherHash, {}},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(events(c.before, c.stands, c.hash) == c.want);
    }
  }
}

TEST_CASE("events carry the words of their condition") {
  const auto write = written(fresh(), standing(Stage::Refused, "SCTP/9 is not supported."));
  CHECK(events_for(fresh(), write) ==
        std::vector<EventNote>{{EventType::Warning, "Unsupported", "SCTP/9 is not supported."}});

  const auto served = written(fresh(), degraded(Stage::Serving));
  const auto notes = events_for(fresh(), served);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].message == serving_of(served).message);
  CHECK(notes[1].message == "No affinity.");
}

TEST_CASE("an update that begins is told in the words of Provisioning") {
  const auto write =
      written(serving(), standing(Stage::Updating, "Being set up."), at(200), kOtherHash);
  CHECK(events_for(serving(), write) ==
        std::vector<EventNote>{{EventType::Normal, "Provisioning", "Being set up."}});
}
