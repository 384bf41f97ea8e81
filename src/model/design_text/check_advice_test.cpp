// What a reader is told to do: the near name where there is one, else where to look; and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string advised(const std::string& more, const std::string& fleet = "") {
  const auto d = read_design(
      "orrery: 1\nname: t\nsites:\n  - { name: one, region: usa }\nfleet:\n  - { name: big, node: "
      "dgx-h100, count: 8" +
          fleet + " }\n" + more,
      design::catalog());
  if (d) return "nothing";
  return d.error().front().why + " | " + d.error().front().fix;
}

TEST(CheckAdvice, a_near_name_is_offered_and_a_far_one_is_looked_up) {
  const auto serve = [](const std::string& fields) {
    return advised(
        "workloads:\n  - serve: { model: llama-3-8b, arrivals: { rate: 1 /s, trace: chat "
        "}, " +
        fields + " }\n");
  };
  EXPECT_EQ(advised("", ", site: onne"), " | did you mean `one`?");
  EXPECT_EQ(advised("", ", site: somewhere"), " | add it, or name one of those there are");
  EXPECT_EQ(serve("partition: p"), " | add it to `scheduler: { partitions: [...] }`");
  EXPECT_EQ(serve("qos: q"), " | add it to `scheduler: { qos: [...] }`");
  EXPECT_EQ(serve("residency: dei"),
            "residency is a region of the catalog, a country such as deu, or eu | did you mean "
            "`deu`?");
  EXPECT_EQ(serve("residency: underneath-the-sea"),
            "residency is a region of the catalog, a country such as deu, or eu | see `orrery "
            "catalog regions`");
  EXPECT_EQ(serve("draft_model: llama-3-8c"),
            "other models are read from the path of their config.json | did you mean "
            "`llama-3-8b`?");
  EXPECT_EQ(serve("draft_model: something-quite-else-altogether"),
            "other models are read from the path of their config.json | see `orrery catalog "
            "models`");
  EXPECT_EQ(advised("", ", rent: { provider: nobody-that-we-know }"),
            "so it cannot say what this costs | give `price` beside it");
  EXPECT_EQ(advised("", ", rent: { provider: awss }"),
            "so it cannot say what this costs | did you mean `aws`? Otherwise give `price`");
  EXPECT_EQ(advised("", ", mig: { 1g.11gb: 1 }"), " | did you mean `1g.10gb`?");
  EXPECT_EQ(advised("", ", mig: { everything: 1 }"),
            " | remove `mig`, or choose another accelerator");
}

TEST(CheckAdvice, a_reason_is_that_of_the_case) {
  const auto tier = [](const std::string& fields) {
    return advised("storage:\n  - { kind: object, capacity: 1 PB, " + fields + " }\n");
  };
  const std::string code = ", protection: { data: 8, parity: 2 }";
  EXPECT_EQ(tier("tier: warm" + code),
            "the usual device of a tier may be an appliance | name a drive: `device: tlc-gen5`");
  EXPECT_EQ(tier("tier: warm, provider: aws" + code),
            "a rented tier is as its provider sells it | take it away");
  EXPECT_EQ(tier("tier: node-nvme" + code),
            "drives in the nodes are served by the nodes | take it away");
  EXPECT_EQ(tier("tier: warm, device: pfs-ddn-ai400x2" + code),
            "an appliance is as it is sold | take it away");
  EXPECT_EQ(tier("tier: warm, device: tlc-gen5, usable: 0.9" + code),
            "parity takes its share of the raw capacity first | write 0.64 or less");
  const auto kv = [](const std::string& what) {
    return advised("workloads:\n  - serve: { " + what +
                   ", arrivals: { rate: 1 /s }, kv_tier: { tier: host, capacity: 9 GB } }\n");
  };
  EXPECT_EQ(kv("network: { params: 1M, forward: 1 GFLOP }"),
            "a plain network keeps no keys and values | leave `kv_tier` out");
  EXPECT_EQ(kv("model: llama-3-8b, prefix_cache: false"),
            "`prefix_cache` is off | leave `kv_tier` out");
}

TEST(CheckAdvice, sixty_four_reservations_are_the_most) {
  const auto many = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += "    - { name: r" + std::to_string(i) + ", start: 0 h, duration: 1 h }\n";
    }
    return said_of(
        "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: "
        "dgx-h100, count: 1 }\nscheduler:\n  reservations:\n" +
        list);
  };
  EXPECT_THAT(many(64), IsEmpty());
  EXPECT_THAT(many(65), ElementsAre("design.reservation at -: 65 reservations"));
}

}  // namespace
}  // namespace orrery::design_text
