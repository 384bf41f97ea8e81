#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CheckPlaces, tier_is_a_pool_or_a_bucket) {
  const auto with = [](const std::string& tier, const std::string& place) {
    return plain_text_said("storage:\n  - { tier: " + tier +
                           ", kind: object, name: n, capacity: 1 TB, place: \"" + place + "\" }\n");
  };
  EXPECT_THAT(with("hot", "rados:pool/a"), IsEmpty());
  EXPECT_THAT(with("warm", "s3+https://h/b"), IsEmpty());
  EXPECT_THAT(with("cold", "s3+http://h/b"), IsEmpty());
  EXPECT_THAT(with("hot", "s3+https://h/b"), ElementsAre("design.place at \"s3+https://h/b\""));
  EXPECT_EQ(with("hot", "/mnt").size(), 1U);
  EXPECT_EQ(with("hot", "rados:a,rados:b").size(), 1U);
  EXPECT_EQ(with("gpu-direct", "rados:a").size(), 1U);
  EXPECT_EQ(with("node-nvme", "rados:a").size(), 1U);
  EXPECT_THAT(
      plain_text_said(
          "storage:\n  - { tier: hot, kind: object, capacity: 1 TB, place: \"rados:a\" }\n  "
          "- { tier: cold, kind: object, capacity: 1 TB, place: \"rados:a\" }\n"),
      ElementsAre("design.place at \"rados:a\""));
}

}  // namespace
}  // namespace orrery::design_text
