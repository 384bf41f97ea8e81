// What is said of services, cascades, slices, pipelines and reservations must have something to act
// on; each refusal where it stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Said = std::vector<std::string>;

// Three sites with a fleet each and a hot tier.
std::string three_sites(const std::string& more, const std::string& fleet = "") {
  return "orrery: 1\nname: t\nsites:\n  - { name: one, region: usa }\n  - { name: two, region: usa "
         "}\n  - { name: six, region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: 8, "
         "site: one" +
         fleet +
         " }\n  - { name: b, node: dgx-h100, count: 4, site: two }\n  - { name: c, node: dgx-h100, "
         "count: 4, site: six }\nstorage:\n  - { tier: hot, kind: object, capacity: 1 PB, site: "
         "one }\n" +
         more;
}

std::string service(const std::string& fields, const std::string& arrivals = "") {
  return "  - serve: { model: llama-3-8b, arrivals: { rate: 1 /s, trace: chat" + arrivals + " }" +
         fields + " }\n";
}

std::string plain_service(const std::string& fields, const std::string& arrivals = "") {
  return "  - serve: { network: { params: 1M, forward: 1 GFLOP }, arrivals: { rate: 1 /s" +
         arrivals + " }" + fields + " }\n";
}

Said serve_said(const std::string& fields, const std::string& arrivals = "") {
  return said_of(three_sites("workloads:\n" + service(fields, arrivals)));
}

Said plain_said(const std::string& fields, const std::string& arrivals = "") {
  return said_of(three_sites("workloads:\n" + plain_service(fields, arrivals)));
}

TEST(CheckService, talks_and_caches_of_answers) {
  EXPECT_THAT(serve_said(""), IsEmpty());
  EXPECT_THAT(serve_said("", ", turns: 2, think_time: 9 s"), IsEmpty());
  EXPECT_THAT(serve_said("", ", think_time: 9 s"),
              ElementsAre("design.talks at 9: `think_time` is of talks, and requests come one by "
                          "one here"));
  EXPECT_THAT(serve_said("", ", cache_hits: 0.99"), IsEmpty());
  EXPECT_THAT(serve_said("", ", cache_hits: 1"),
              ElementsAre("design.range at 1: a response cache that answers all leaves nothing to "
                          "serve"));
  const std::string again =
      "design.talks at 0.1: turns of a talk are not found in a response "
      "cache";
  EXPECT_THAT(serve_said("", ", cache_hits: 0.1, turns: 2"), ElementsAre(again));
  EXPECT_THAT(serve_said("", ", cache_hits: 0.1, agent: { calls: 3, tool_time: 1 s }"),
              ElementsAre(again));
  EXPECT_THAT(serve_said("", ", turns: 64"), IsEmpty());
  EXPECT_THAT(serve_said("", ", turns: 65"),
              ElementsAre("design.talks at 65: a talk has at most 64 turns here"));
  EXPECT_THAT(serve_said("", ", agent: { calls: 65, tool_time: 1 s }"),
              ElementsAre("design.talks at {: a talk has at most 64 turns here"));
  EXPECT_THAT(serve_said("", ", turns: 2, agent: { calls: 3, tool_time: 1 s }"),
              ElementsAre("design.talks at 2: `turns` and `agent` both say who asks again"));
}

TEST(CheckService, talks_that_are_not_modelled) {
  EXPECT_THAT(plain_said("", ", turns: 2"),
              ElementsAre("design.talks at 2: a plain network has no talks"));
  EXPECT_THAT(serve_said(", disaggregated: true", ", turns: 2"),
              ElementsAre("design.talks at 2: talks with prefill and decode apart are not "
                          "modelled"));
  EXPECT_THAT(serve_said(", disaggregated: true"), IsEmpty());
  EXPECT_THAT(serve_said(", draft_model: llama-3-8b", ", turns: 2"),
              ElementsAre("design.talks at 2: talks with guessed tokens are not modelled"));
  EXPECT_THAT(serve_said(", draft_model: llama-3-8b"), IsEmpty());
  EXPECT_THAT(serve_said(", draft_model: llama-3-8c"),
              ElementsAre("design.unknown-part at llama-3-8c: the catalog has no model "
                          "`llama-3-8c`"));
  EXPECT_THAT(serve_said(", objective: { task_p99: 9 s }"),
              ElementsAre("design.talks at 9: `task_p99` is of an agent's tasks, and there are "
                          "none here"));
  EXPECT_THAT(serve_said(", objective: { task_p99: 9 s }", ", agent: { calls: 3, tool_time: 1 s }"),
              IsEmpty());
  EXPECT_THAT(plain_said(", router: prefix"),
              ElementsAre("design.talks at prefix: a plain network's requests are not routed one "
                          "by one"));
  EXPECT_THAT(plain_said(", router: least-requests"), IsEmpty());
  EXPECT_THAT(serve_said(", router: prefix"), IsEmpty());
}

TEST(CheckService, an_autoscaler_is_the_only_one_to_say_how_many) {
  const std::string scale = ", autoscale: { min: 2, max: 2, target: 9 }";
  EXPECT_THAT(serve_said(scale), IsEmpty());
  EXPECT_THAT(serve_said(scale + ", replicas: 2"),
              ElementsAre("design.autoscale at 2: `replicas` and `autoscale` both say how many "
                          "replicas there are"));
  EXPECT_THAT(serve_said(", autoscale: { min: 3, max: 2, target: 9 }"),
              ElementsAre("design.autoscale at 3: `min` is more than `max`"));
  EXPECT_THAT(serve_said(scale + ", disaggregated: true"),
              ElementsAre("design.autoscale at {: autoscaling with prefill and decode apart is not "
                          "modelled"));
  EXPECT_THAT(serve_said(scale + ", zones: [{ site: one, share: 1, replicas: 7 }]"),
              ElementsAre("design.autoscale at 7: `replicas` of a zone and `autoscale` both say "
                          "how many there are"));
}

TEST(CheckService, a_kv_tier_is_behind_a_prefix_cache) {
  const std::string tier = ", kv_tier: { tier: host, capacity: 9 GB }";
  const std::string refused =
      "design.kv-tier at {: a KV tier is behind a prefix cache, and there is none here";
  EXPECT_THAT(serve_said(tier), IsEmpty());
  EXPECT_THAT(serve_said(tier + ", prefix_cache: false"), ElementsAre(refused));
  EXPECT_THAT(plain_said(tier), ElementsAre(refused));
  EXPECT_THAT(serve_said(", kv_tier: { tier: hut, capacity: 9 GB }"),
              ElementsAre("design.unknown-name at hut: this file has no storage tier `hut`"));
  EXPECT_THAT(serve_said(", weights_tier: hut"),
              ElementsAre("design.unknown-name at hut: this file has no storage tier `hut`"));
}

TEST(CheckService, adapters_have_a_rank_and_a_place) {
  const auto with = [](const std::string& fields) {
    return serve_said(", adapters: { count: 9, " + fields + " }");
  };
  EXPECT_THAT(with("rank: 512"), IsEmpty());
  EXPECT_THAT(with("rank: 513"), ElementsAre("design.adapters at 513: engines serve ranks up to "
                                             "512"));
  EXPECT_THAT(serve_said(", adapters: { count: 100000 }"), IsEmpty());
  EXPECT_THAT(serve_said(", adapters: { count: 100001 }"),
              ElementsAre("design.adapters at 100001: that are more than 100,000"));
  EXPECT_THAT(with("targets: [qkv, o, mlp]"), IsEmpty());
  EXPECT_THAT(with("targets: [qkv, x]"),
              ElementsAre("design.adapters at [qkv: they stand beside qkv, o, mlp"));
  EXPECT_THAT(with("targets: []"),
              ElementsAre("design.adapters at [: they stand beside qkv, o, mlp"));
  EXPECT_THAT(plain_said(", adapters: { count: 9 }"),
              ElementsAre("design.adapters at {: a plain network has no adapters here"));
  EXPECT_THAT(serve_said(", disaggregated: true, adapters: { count: 9 }"),
              ElementsAre("design.adapters at {: adapters with roles apart are not modelled"));
}

TEST(CheckService, zones_share_all_requests) {
  const auto zones = [](const std::string& first, const std::string& second) {
    return serve_said(", zones: [{ site: one, " + first + " }, { site: two, " + second + " }]");
  };
  EXPECT_THAT(zones("share: 0.5", "share: 0.504"), IsEmpty());
  EXPECT_THAT(zones("share: 0.5", "share: 0.506"),
              ElementsAre("design.range at [{: the zones' shares add up to 1.01"));
  EXPECT_THAT(zones("share: 0.5", "share: 0.49"),
              ElementsAre("design.range at [{: the zones' shares add up to 0.99"));
  EXPECT_THAT(zones("share: 0.5", "share: 0.5, fleet: bb"),
              ElementsAre("design.unknown-name at bb: this file has no fleet `bb`"));
  EXPECT_THAT(zones("share: 0.5", "share: 0.5, residency: mars"),
              ElementsAre("design.unknown-part at mars: `mars` is no region or country"));
  EXPECT_THAT(serve_said(", zones: [{ site: won, share: 1 }]"),
              ElementsAre("design.unknown-name at won: this file has no site `won`"));
}

TEST(CheckService, traffic_goes_to_another_zone) {
  const auto zones = [](const std::string& first) {
    return serve_said(", zones: [{ site: one, share: 0.5, " + first +
                      " }, { site: two, share: 0.5 }]");
  };
  EXPECT_THAT(zones("failover: [two], failover_after: 9 s"), IsEmpty());
  EXPECT_THAT(zones("failover: [one]"),
              ElementsAre("design.failover at one: `one` is the zone's own site"));
  EXPECT_THAT(zones("failover: [two, two]"),
              ElementsAre("design.failover at two: `two` is named twice"));
  EXPECT_THAT(zones("failover: [six]"),
              ElementsAre("design.failover at six: no zone of this service stands at `six`"));
  EXPECT_THAT(zones("failover_after: 9 s"),
              ElementsAre("design.failover at 9: `failover_after` is of a zone whose traffic goes "
                          "elsewhere"));
  EXPECT_THAT(zones("failover: [tow]"),
              ElementsAre("design.unknown-name at tow: this file has no site `tow`",
                          "design.failover at tow: no zone of this service stands at `tow`"));
}

TEST(CheckService, what_is_looked_up_lengthens_a_prompt) {
  const auto with = [](const std::string& fields) {
    return ", retrieval: { tier: hot, index: 2 TB, reads: 4" + fields + " }";
  };
  EXPECT_THAT(serve_said(with(", hops: 4")), IsEmpty());
  EXPECT_THAT(serve_said(with(", hops: 5")),
              ElementsAre("design.retrieval at 5: there are more hops than reads"));
  EXPECT_THAT(plain_said(with("")),
              ElementsAre("design.retrieval at {: a plain network has no prompt"));
  EXPECT_THAT(serve_said(with(""), ", agent: { calls: 3, tool_time: 1 s }"),
              ElementsAre("design.retrieval at {: an agent's retrieval is one of its tools"));
  EXPECT_THAT(plain_said(", max_batch: 8"),
              ElementsAre("design.retrieval at 8: a plain network runs one request at a time "
                          "here"));
  EXPECT_THAT(serve_said(", max_batch: 8"), IsEmpty());
  EXPECT_THAT(serve_said(", retrieval: { tier: hit, index: 2 TB, reads: 4 }"),
              ElementsAre("design.unknown-name at hit: this file has no storage tier `hit`"));
}

TEST(CheckService, cascades_end) {
  const auto two = [](const std::string& first, const std::string& second) {
    return said_of(three_sites("workloads:\n" + first + second));
  };
  const std::string to_big = ", name: small, escalate: { service: big, share: 0.1 }";
  EXPECT_THAT(two(service(to_big), service(", name: big")), IsEmpty());
  EXPECT_THAT(two(service(to_big), service(", name: bug")),
              ElementsAre("design.unknown-name at big: this file has no service `big`"));
  EXPECT_THAT(
      two(service(to_big), service(", name: big, escalate: { service: small, share: 0.1 }")),
      ElementsAre("design.cascade at big: services escalate in a circle",
                  "design.cascade at small: services escalate in a circle"));
  EXPECT_THAT(two(service(to_big), plain_service(", name: big")),
              ElementsAre("design.cascade at {: a plain network has no larger model to go to"));
  EXPECT_THAT(two(service(to_big, ", turns: 2"), service(", name: big")),
              ElementsAre("design.cascade at {: talks and tasks that escalate are not modelled"));
  const auto rate_of_big = [&](const std::string& first) {
    return two(service(first),
               "  - serve: { name: big, model: llama-3-8b, arrivals: { rate: 0 /s, "
               "trace: chat } }\n");
  };
  EXPECT_THAT(rate_of_big(to_big), IsEmpty());
  EXPECT_THAT(rate_of_big(", name: small"),
              ElementsAre("design.range at 0: nobody asks this service"));
}

TEST(CheckService, a_replica_on_a_slice_is_on_one) {
  const auto sliced = [](const std::string& fields, const std::string& mig = "1g.10gb: 7") {
    return said_of(three_sites("workloads:\n" + service(fields), ", mig: { " + mig + " }"));
  };
  EXPECT_THAT(sliced(""), IsEmpty());
  EXPECT_THAT(sliced(", tp: 2"), ElementsAre("design.mig at 2: a replica on a slice is on one"));
  EXPECT_THAT(sliced(", tp: 1"), IsEmpty());
  EXPECT_THAT(sliced(", pp: 2"), ElementsAre("design.mig at 2: a replica on a slice is on one"));
  EXPECT_THAT(sliced(", disaggregated: true"),
              ElementsAre("design.mig at true: prefill and decode apart on slices are not "
                          "modelled"));
  EXPECT_THAT(sliced("", "1g.10gb: 3, 2g.20gb: 2"),
              ElementsAre("design.mig at {: the accelerators of its fleet are cut into slices of "
                          "several sizes"));
  EXPECT_THAT(sliced(", tp: 2, fleet: b"), IsEmpty()) << "whole accelerators there";
  EXPECT_THAT(sliced(", tp: 2, zones: [{ site: two, share: 1 }]"), IsEmpty());
  EXPECT_EQ(sliced(", tp: 2, zones: [{ site: one, share: 1 }]").size(), 1U);
  EXPECT_EQ(sliced(", tp: 2, zones: [{ site: two, fleet: a, share: 1 }]").size(), 1U);
}

}  // namespace
}  // namespace orrery::design_text
