#include "layers/storage/lifecycle_memory.h"

#include <gtest/gtest.h>

#include "layers/storage/lifecycle_driver.h"

namespace orrery::storage {
namespace {

TEST(LifecycleMemory, first_good_digest_is_kept) {
  LifecycleMemory m;
  const auto saw = [&](LifecycleEventKind kind, const std::string& place,
                       const std::string& digest) {
    apply(m, {.kind = kind, .item = "a", .place = place, .stamp = "s", .digest = digest});
  };
  saw(LifecycleEventKind::corrupt, "hot", "bad");
  EXPECT_EQ(m.items.at("a").digest, "") << "of a good copy only";
  saw(LifecycleEventKind::verified, "", "d1");  // a compacted journal has the digest alone
  EXPECT_EQ(m.items.at("a").copies.size(), 1u);
  saw(LifecycleEventKind::verified, "cold", "d2");
  EXPECT_EQ(m.items.at("a").digest, "d1");
  EXPECT_EQ(m.items.at("a").copies.at("hot").finding, CopyFinding::corrupt);
  EXPECT_EQ(m.items.at("a").copies.at("cold").finding, CopyFinding::good);
  const auto tried = [&](const std::string& key, bool good, Seconds at) {
    apply(m, {.kind = LifecycleEventKind::tried, .at = at, .key = key, .good = good});
  };
  tried("copy/cold/a", false, seconds(5));
  tried("copy/cold/a", false, seconds(9));
  EXPECT_EQ(m.attempts.at("copy/cold/a").count, 2);
  EXPECT_EQ(m.attempts.at("copy/cold/a").last, seconds(9));
  tried("copy/cold/a", true, seconds(11));
  EXPECT_EQ(m.attempts.at("copy/cold/a").count, 0) << "in a row without success";
  tried("copy/cold/aa", false, seconds(5));
  tried("copy/cold/ba", false, seconds(5));
  apply(m, {.kind = LifecycleEventKind::alerted, .key = "corrupt/hot/a"});
  apply(m, {.kind = LifecycleEventKind::alerted, .key = "corrupt/hot/ba"});
  apply(m,
        {.kind = LifecycleEventKind::paced, .at = seconds(1), .place = "hot", .until = seconds(7)});
  EXPECT_EQ(m.busy_until.at("hot"), seconds(7));
  apply(m, {.kind = LifecycleEventKind::forgotten, .item = "a"});
  EXPECT_FALSE(m.items.contains("a"));
  EXPECT_EQ(m.attempts.size(), 2u) << "those of aa and ba stay";
  EXPECT_EQ(m.alerted, std::set<std::string>{"corrupt/hot/ba"});
}

}  // namespace
}  // namespace orrery::storage
