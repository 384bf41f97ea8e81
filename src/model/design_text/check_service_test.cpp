// Fields of services that need something to act on: each refusal at its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/read_design.h"
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

Said serve_said(const std::string& fields, const std::string& arrivals = "") {
  return said_of(three_sites("workloads:\n" + service(fields, arrivals)));
}

TEST(CheckService, conversations_and_response_caches) {
  EXPECT_THAT(serve_said(""), IsEmpty());
  EXPECT_THAT(serve_said("", ", turns: 2, think_time: 9 s"), IsEmpty());
  EXPECT_THAT(serve_said("", ", think_time: 9 s"), ElementsAre("design.talks at 9"));
  EXPECT_THAT(serve_said("", ", cache_hits: 0.99"), IsEmpty());
  EXPECT_THAT(serve_said("", ", cache_hits: 1"), ElementsAre("design.range at 1"));
  const std::string again = "design.talks at 0.1";
  EXPECT_THAT(serve_said("", ", cache_hits: 0.1, turns: 2"), ElementsAre(again));
  EXPECT_THAT(serve_said("", ", cache_hits: 0.1, agent: { calls: 3, tool_time: 1 s }"),
              ElementsAre(again));
  EXPECT_THAT(serve_said("", ", turns: 64"), IsEmpty());
  EXPECT_THAT(serve_said("", ", turns: 65"), ElementsAre("design.talks at 65"));
  EXPECT_THAT(serve_said("", ", agent: { calls: 65, tool_time: 1 s }"),
              ElementsAre("design.talks at {"));
  EXPECT_THAT(serve_said("", ", turns: 2, agent: { calls: 3, tool_time: 1 s }"),
              ElementsAre("design.talks at 2"));
}

std::string plain_service(const std::string& fields, const std::string& arrivals = "") {
  return "  - serve: { network: { params: 1M, forward: 1 GFLOP }, arrivals: { rate: 1 /s" +
         arrivals + " }" + fields + " }\n";
}

Said plain_said(const std::string& fields, const std::string& arrivals = "") {
  return said_of(three_sites("workloads:\n" + plain_service(fields, arrivals)));
}

TEST(CheckService, conversations_that_are_not_modelled) {
  EXPECT_THAT(plain_said("", ", turns: 2"), ElementsAre("design.talks at 2"));
  EXPECT_THAT(serve_said(", disaggregated: true", ", turns: 2"), ElementsAre("design.talks at 2"));
  EXPECT_THAT(serve_said(", disaggregated: true"), IsEmpty());
  EXPECT_THAT(serve_said(", draft_model: llama-3-8b", ", turns: 2"),
              ElementsAre("design.talks at 2"));
  EXPECT_THAT(serve_said(", draft_model: llama-3-8b"), IsEmpty());
  EXPECT_THAT(serve_said(", draft_model: llama-3-8c"),
              ElementsAre("design.unknown-part at llama-3-8c"));
  EXPECT_THAT(serve_said(", objective: { task_p99: 9 s }"), ElementsAre("design.talks at 9"));
  EXPECT_THAT(serve_said(", objective: { task_p99: 9 s }", ", agent: { calls: 3, tool_time: 1 s }"),
              IsEmpty());
  EXPECT_THAT(plain_said(", router: prefix"), ElementsAre("design.talks at prefix"));
  EXPECT_THAT(plain_said(", router: least-requests"), IsEmpty());
  EXPECT_THAT(serve_said(", router: prefix"), IsEmpty());
}

TEST(CheckService, autoscaler_excludes_a_replica_count) {
  const std::string scale = ", autoscale: { min: 2, max: 2, target: 9 }";
  EXPECT_THAT(serve_said(scale), IsEmpty());
  EXPECT_THAT(serve_said(scale + ", replicas: 2"), ElementsAre("design.autoscale at 2"));
  EXPECT_THAT(serve_said(", autoscale: { min: 3, max: 2, target: 9 }"),
              ElementsAre("design.autoscale at 3"));
  EXPECT_THAT(serve_said(scale + ", disaggregated: true"), ElementsAre("design.autoscale at {"));
  EXPECT_THAT(serve_said(scale + ", zones: [{ site: one, share: 1, replicas: 7 }]"),
              ElementsAre("design.autoscale at 7"));
}

TEST(CheckService, kv_tier_needs_a_prefix_cache) {
  const std::string tier = ", kv_tier: { tier: host, capacity: 9 GB }";
  const std::string refused = "design.kv-tier at {";
  EXPECT_THAT(serve_said(tier), IsEmpty());
  EXPECT_THAT(serve_said(tier + ", prefix_cache: false"), ElementsAre(refused));
  EXPECT_THAT(plain_said(tier), ElementsAre(refused));
  EXPECT_THAT(serve_said(", kv_tier: { tier: hut, capacity: 9 GB }"),
              ElementsAre("design.unknown-name at hut"));
  EXPECT_THAT(serve_said(", weights_tier: hut"), ElementsAre("design.unknown-name at hut"));
}

TEST(CheckService, adapters_have_a_rank_and_targets) {
  const auto with = [](const std::string& fields) {
    return serve_said(", adapters: { count: 9, " + fields + " }");
  };
  EXPECT_THAT(with("rank: 512"), IsEmpty());
  EXPECT_THAT(with("rank: 513"), ElementsAre("design.adapters at 513"));
  EXPECT_THAT(serve_said(", adapters: { count: 100000 }"), IsEmpty());
  EXPECT_THAT(serve_said(", adapters: { count: 100001 }"),
              ElementsAre("design.adapters at 100001"));
  EXPECT_THAT(with("targets: [qkv, o, mlp]"), IsEmpty());
  EXPECT_THAT(with("targets: [qkv, x]"), ElementsAre("design.adapters at [qkv"));
  EXPECT_THAT(with("targets: []"), ElementsAre("design.adapters at ["));
  EXPECT_THAT(plain_said(", adapters: { count: 9 }"), ElementsAre("design.adapters at {"));
  EXPECT_THAT(serve_said(", disaggregated: true, adapters: { count: 9 }"),
              ElementsAre("design.adapters at {"));
}

TEST(CheckService, shares_of_zones_add_up_to_one) {
  const auto zones = [](const std::string& first, const std::string& second) {
    return serve_said(", zones: [{ site: one, " + first + " }, { site: two, " + second + " }]");
  };
  EXPECT_THAT(zones("share: 0.5", "share: 0.504"), IsEmpty());
  EXPECT_THAT(zones("share: 0.5", "share: 0.506"), ElementsAre("design.range at [{"));
  EXPECT_THAT(zones("share: 0.5", "share: 0.49"), ElementsAre("design.range at [{"));
  EXPECT_THAT(zones("share: 0.5", "share: 0.5, fleet: bb"),
              ElementsAre("design.unknown-name at bb"));
  EXPECT_THAT(zones("share: 0.5", "share: 0.5, residency: mars"),
              ElementsAre("design.unknown-part at mars"));
  EXPECT_THAT(serve_said(", zones: [{ site: won, share: 1 }]"),
              ElementsAre("design.unknown-name at won"));
}

TEST(CheckService, failover_goes_to_another_zone) {
  const auto zones = [](const std::string& first) {
    return serve_said(", zones: [{ site: one, share: 0.5, " + first +
                      " }, { site: two, share: 0.5 }]");
  };
  EXPECT_THAT(zones("failover: [two], failover_after: 9 s"), IsEmpty());
  EXPECT_THAT(zones("failover: [one]"), ElementsAre("design.failover at one"));
  EXPECT_THAT(zones("failover: [two, two]"), ElementsAre("design.failover at two"));
  EXPECT_THAT(zones("failover: [six]"), ElementsAre("design.failover at six"));
  EXPECT_THAT(zones("failover_after: 9 s"), ElementsAre("design.failover at 9"));
  EXPECT_THAT(zones("failover: [tow]"),
              ElementsAre("design.unknown-name at tow", "design.failover at tow"));
}

TEST(CheckService, retrieval_needs_a_prompt) {
  const auto with = [](const std::string& fields) {
    return ", retrieval: { tier: hot, index: 2 TB, reads: 4" + fields + " }";
  };
  EXPECT_THAT(serve_said(with(", hops: 4")), IsEmpty());
  EXPECT_THAT(serve_said(with(", hops: 5")), ElementsAre("design.retrieval at 5"));
  EXPECT_THAT(plain_said(with("")), ElementsAre("design.retrieval at {"));
  EXPECT_THAT(serve_said(with(""), ", agent: { calls: 3, tool_time: 1 s }"),
              ElementsAre("design.retrieval at {"));
  EXPECT_THAT(plain_said(", max_batch: 8"), ElementsAre("design.retrieval at 8"));
  EXPECT_THAT(serve_said(", max_batch: 8"), IsEmpty());
  EXPECT_THAT(serve_said(", retrieval: { tier: hit, index: 2 TB, reads: 4 }"),
              ElementsAre("design.unknown-name at hit"));
}

TEST(CheckService, cascades_end) {
  const auto two = [](const std::string& first, const std::string& second) {
    return said_of(three_sites("workloads:\n" + first + second));
  };
  const std::string to_big = ", name: small, escalate: { service: big, share: 0.1 }";
  EXPECT_THAT(two(service(to_big), service(", name: big")), IsEmpty());
  EXPECT_THAT(two(service(to_big), service(", name: bug")),
              ElementsAre("design.unknown-name at big"));
  EXPECT_THAT(
      two(service(to_big), service(", name: big, escalate: { service: small, share: 0.1 }")),
      ElementsAre("design.cascade at big", "design.cascade at small"));
  EXPECT_THAT(two(service(to_big), plain_service(", name: big")),
              ElementsAre("design.cascade at {"));
  EXPECT_THAT(two(service(to_big, ", turns: 2"), service(", name: big")),
              ElementsAre("design.cascade at {"));
  const auto rate_of_big = [&](const std::string& first) {
    return two(service(first),
               "  - serve: { name: big, model: llama-3-8b, arrivals: { rate: 0 /s, "
               "trace: chat } }\n");
  };
  EXPECT_THAT(rate_of_big(to_big), IsEmpty());
  EXPECT_THAT(rate_of_big(", name: small"), ElementsAre("design.range at 0"));
}

// What reading two fleets with `more` reports.
Lines said_with(const std::string& more, const std::string& fleet = "") {
  return said_of(
      "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: 8" +
      fleet + " }\n  - { name: b, node: dgx-h100, count: 4 }\n" + more);
}

std::string chained_service(const std::string& name, const std::string& rate,
                            const std::string& more) {
  return "  - serve: { name: " + name + ", model: llama-3-8b, arrivals: { rate: " + rate +
         " /s, trace: chat }" + more + " }\n";
}

std::string passes_to(const std::string& name) {
  return ", escalate: { service: " + name + ", share: 0.1 }";
}

TEST(CheckService, every_service_in_a_circle_is_reported) {
  EXPECT_THAT(said_with("workloads:\n" + chained_service("x", "1", passes_to("y")) +
                        chained_service("y", "0", passes_to("z")) + chained_service("z", "0", "")),
              IsEmpty());
  EXPECT_THAT(said_with("workloads:\n" + chained_service("x", "1", passes_to("x"))),
              ElementsAre("design.cascade at x"));
  EXPECT_THAT(said_with("workloads:\n" + chained_service("x", "1", passes_to("y")) +
                        chained_service("y", "1", passes_to("z")) +
                        chained_service("z", "1", passes_to("x"))),
              ElementsAre("design.cascade at y", "design.cascade at z", "design.cascade at x"));
  EXPECT_THAT(said_with("workloads:\n" + chained_service("x", "1", passes_to("unknown"))),
              ElementsAre("design.unknown-name at unknown"));
  EXPECT_THAT(said_with("workloads:\n" + chained_service("x", "1", passes_to("job")) +
                        "  - jobs: { name: job, rate: 1 /h, mean_duration: 1 h }\n"),
              ElementsAre("design.unknown-name at job"));
}

TEST(CheckService, service_needs_a_rate_or_an_escalation) {
  const auto refused = [](const std::string& at) { return "design.range at " + at; };
  EXPECT_THAT(said_with("workloads:\n" + chained_service("x", "0", "")), ElementsAre(refused("0")));
  EXPECT_THAT(said_with("workloads:\n" + chained_service("x", "0.001", "")), IsEmpty());
  EXPECT_THAT(said_with("workloads:\n" + chained_service("x", "1", passes_to("y")) +
                        chained_service("y", "0", "") + chained_service("z", "0", "")),
              ElementsAre(refused("0")))
      << "only the last";
  EXPECT_THAT(said_with("workloads:\n  - jobs: { name: j, rate: 1 /h, mean_duration: 1 h }\n" +
                        chained_service("x", "1", "") + chained_service("y", "0", "")),
              ElementsAre(refused("0")));
}

TEST(CheckService, replica_on_a_slice_is_on_one) {
  const auto sliced = [](const std::string& fields, const std::string& mig = "1g.10gb: 7") {
    return said_of(three_sites("workloads:\n" + service(fields), ", mig: { " + mig + " }"));
  };
  EXPECT_THAT(sliced(""), IsEmpty());
  EXPECT_THAT(sliced(", tp: 2"), ElementsAre("design.mig at 2"));
  EXPECT_THAT(sliced(", tp: 1"), IsEmpty());
  EXPECT_THAT(sliced(", pp: 2"), ElementsAre("design.mig at 2"));
  EXPECT_THAT(sliced(", disaggregated: true"), ElementsAre("design.mig at true"));
  EXPECT_THAT(sliced("", "1g.10gb: 3, 2g.20gb: 2"), ElementsAre("design.mig at {"));
  EXPECT_THAT(sliced(", tp: 2, fleet: b"), IsEmpty()) << "whole accelerators there";
  EXPECT_THAT(sliced(", tp: 2, zones: [{ site: two, share: 1 }]"), IsEmpty());
  EXPECT_EQ(sliced(", tp: 2, zones: [{ site: one, share: 1 }]").size(), 1U);
  EXPECT_EQ(sliced(", tp: 2, zones: [{ site: two, fleet: a, share: 1 }]").size(), 1U);
}

}  // namespace
}  // namespace orrery::design_text
