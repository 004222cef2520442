#include "reconciler/clusters.hpp"

#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::test;
using controller::Clusters;
using controller::Store;
using Keys = Clusters::Keys;

namespace {

core::Service service_in(const std::string& cluster, const std::string& name) {
  auto out = a_service().named(name).with_port(80).build();
  out.key.cluster = cluster;
  out.uid = cluster + "/" + name;
  return out;
}

/// Two clusters on one network and one on another, each with the Service default/web.
struct ThreeClusters {
  Clusters clusters;
  std::map<std::string, core::Service> web;

  ThreeClusters() {
    for (const auto& [name, network] :
         std::map<std::string, std::string>{{"a", "kind"}, {"b", "kind"}, {"c", "other"}}) {
      clusters.add(name, network, nullptr);
      web[name] = service_in(name, "default/web");
      store(name).put_service(web[name]);
      clusters.record_of(web[name]);
    }
  }
  Store& store(const std::string& cluster) { return clusters.find(cluster)->store; }
  void list_all(const std::string& cluster) {
    store(cluster).replace_services({web[cluster]});
    store(cluster).replace_slices({});
    store(cluster).replace_nodes({});
  }
};

}  // namespace

TEST_CASE_FIXTURE(ThreeClusters, "a cluster that is added again keeps its objects and records") {
  clusters.add("a", "moved", nullptr);
  CHECK(clusters.find("a")->network == "moved");
  CHECK(clusters.find_service(web["a"].key) != nullptr);
  CHECK(clusters.find_record(web["a"].key) != nullptr);
  CHECK(clusters.networks() == std::set<std::string>{"kind", "moved", "other"});
  CHECK(clusters.find("unknown") == nullptr);
}

TEST_CASE_FIXTURE(ThreeClusters, "a cluster that is removed leaves nothing behind") {
  const auto gone = clusters.remove("a");
  REQUIRE(gone.size() == 1);
  CHECK(gone.at(web["a"].key).uid == web["a"].uid);
  CHECK_FALSE(clusters.key_of(web["a"].uid));
  CHECK(clusters.find_record(web["a"].key) == nullptr);
  CHECK(clusters.find_service(web["a"].key) == nullptr);
  CHECK(clusters.record_count() == 2);
  CHECK(clusters.remove("a").empty());
}

TEST_CASE_FIXTURE(ThreeClusters, "a record is of one Service, by uid") {
  const auto key = web["a"].key;
  clusters.find_record(key)->hash = "h";
  CHECK(clusters.record_of(web["a"]).hash == "h");
  CHECK(clusters.find_record(key, web["a"].uid) != nullptr);
  CHECK(clusters.find_record(key, "another") == nullptr);
  CHECK(clusters.key_of(web["a"].uid) == key);

  CHECK(clusters.forget(key)->hash == "h");
  CHECK_FALSE(clusters.forget(key));
  CHECK_FALSE(clusters.key_of(web["a"].uid));
  auto namesake = web["a"];
  namesake.uid = "another";
  CHECK(clusters.record_of(namesake).hash.empty());
  CHECK(clusters.key_of("another") == key);
}

TEST_CASE_FIXTURE(ThreeClusters, "Services to be planned, by what concerns them") {
  CHECK(clusters.service_keys().size() == 3);
  CHECK(clusters.record_keys() == Keys{web["a"].key, web["b"].key, web["c"].key});
  CHECK(clusters.record_keys_on("kind") == Keys{web["a"].key, web["b"].key});
  web["a"].status.ingress = {{.ip = "172.18.0.254"}};
  store("a").put_service(web["a"]);
  CHECK(clusters.record_keys_without_address("kind") == Keys{web["b"].key});
  store("b").remove_service(web["b"].key);
  CHECK(clusters.record_keys_without_address("kind").empty());
}

TEST_CASE_FIXTURE(ThreeClusters, "a Service's answer is stored, unless it is gone or another one") {
  auto answer = web["a"];
  answer.status.ingress = {{.ip = "172.18.0.254"}};
  const auto stored = [&] {
    const auto* now = clusters.find_service(answer.key);
    return now != nullptr && !now->status.ingress.empty();
  };
  SUBCASE("as it was written") {
    clusters.store_answer(answer);
    CHECK(stored());
  }
  SUBCASE("gone meanwhile") {
    store("a").remove_service(answer.key);
    clusters.store_answer(answer);
    CHECK_FALSE(stored());
  }
  SUBCASE("replaced meanwhile") {
    answer.uid = "former";
    clusters.store_answer(answer);
    CHECK_FALSE(stored());
  }
  SUBCASE("its cluster was removed meanwhile") {
    clusters.remove("a");
    clusters.store_answer(answer);
    CHECK_FALSE(stored());
  }
}

TEST_CASE_FIXTURE(ThreeClusters, "who is an orphan is known once the Services are listed") {
  CHECK_FALSE(clusters.is_orphan("a", "gone", {}));
  list_all("a");
  CHECK(clusters.is_orphan("a", "gone", {}));
  CHECK_FALSE(clusters.is_orphan("a", web["a"].uid, {}));
  CHECK_FALSE(clusters.is_orphan("elsewhere", "gone", {}));
  web["a"].spec.type = core::ServiceType::ClusterIp;  // never ours
  list_all("a");
  CHECK(clusters.is_orphan("a", web["a"].uid, {}));
}

TEST_CASE_FIXTURE(ThreeClusters, "all clusters are synced when each has been") {
  CHECK_FALSE(clusters.all_synced());
  for (const auto* name : {"a", "b", "c"}) clusters.find(name)->was_synced = true;
  CHECK(clusters.all_synced());
}
