#include "study/rehearse/simulated_places.h"

#include <gmock/gmock.h>

#include "study/rehearse/rehearsal.h"
#include "study/rehearse/simulated_slurm.h"

namespace orrery::rehearse {
namespace {

using storage::LifecycleAction;
using storage::LifecycleActionKind;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Seconds kStart = seconds(1'700'000'000);

struct PlacesCase {
  PlacesCase() {
    places.begin("near", "a", {.run = "r", .step = 7, .made = seconds(5), .size = gib(3)});
    places.on_point([this] { ++points; });
  }
  storage::LifecycleLook look() { return places.look().value(); }
  std::string stamp_at(const std::string& place) {
    const SimulatedCopy* copy = places.copy_at(place, "a");
    return copy ? std::to_string(copy->stamp) : "";
  }
  Result<storage::LifecycleOutcome> copy_to(const std::string& place, const std::string& from) {
    return places.act(
        {.kind = LifecycleActionKind::copy, .item = "a", .place = place, .from = from});
  }
  Result<storage::LifecycleOutcome> verify(const std::string& place) {
    return places.act({.kind = LifecycleActionKind::verify, .item = "a", .place = place});
  }
  Result<storage::LifecycleOutcome> remove(const std::string& place, const std::string& stamp) {
    return places.act(
        {.kind = LifecycleActionKind::remove, .item = "a", .place = place, .stamp = stamp});
  }

  SimulatedPlaces places{{"near", "far"}};
  int points = 0;
};

TEST(SimulatedPlaces, a_look_lists_all_copies) {
  PlacesCase c;
  EXPECT_EQ(c.places.now(), kStart);
  c.places.pass(seconds(60));
  const storage::LifecycleLook begun = c.look();
  EXPECT_EQ(c.points, 1);
  EXPECT_EQ(begun.now, kStart + seconds(60));
  EXPECT_THAT(begun.away, IsEmpty());
  ASSERT_EQ(begun.items.size(), 1u);
  EXPECT_EQ(begun.items[0].id, "a");
  EXPECT_EQ(begun.items[0].run, "r");
  EXPECT_EQ(begun.items[0].step, 7);
  EXPECT_EQ(begun.items[0].made, seconds(5));
  EXPECT_FALSE(begun.items[0].milestone || begun.items[0].held);
  ASSERT_EQ(begun.items[0].copies.size(), 1u);
  EXPECT_EQ(begun.items[0].copies[0].place, "near");
  EXPECT_EQ(begun.items[0].copies[0].size, gib(3));
  EXPECT_FALSE(begun.items[0].copies[0].complete);
  EXPECT_EQ(begun.items[0].copies[0].written, kStart);
  EXPECT_EQ(c.places.items().at("a").content, 1u);
  c.places.finish("near", "a");
  c.places.finish("far", "a");  // the place is empty
  c.places.hold("a", true);
  const storage::LifecycleLook done = c.look();
  EXPECT_TRUE(done.items[0].held);
  ASSERT_EQ(done.items[0].copies.size(), 1u);
  EXPECT_TRUE(done.items[0].copies[0].complete);
  EXPECT_EQ(done.items[0].copies[0].written, kStart + seconds(60));
  EXPECT_NE(done.items[0].copies[0].stamp, begun.items[0].copies[0].stamp);
}

TEST(SimulatedPlaces, copies_are_made_verified_and_removed) {
  PlacesCase c;
  EXPECT_FALSE(c.verify("near"));
  c.places.finish("near", "a");
  c.places.pass(seconds(9));
  c.points = 0;
  const auto made = c.copy_to("far", "near");
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->good);
  EXPECT_EQ(c.points, 3);
  EXPECT_EQ(made->stamp, c.stamp_at("far"));
  EXPECT_EQ(c.places.copy_at("far", "a")->written, kStart + seconds(9));
  EXPECT_TRUE(c.places.is_good_at("far", "a"));
  const auto read = c.verify("far");
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->good);
  EXPECT_EQ(read->stamp, c.stamp_at("far"));
  EXPECT_EQ(read->digest, "1");
  EXPECT_FALSE(c.remove("near", "0"));
  EXPECT_TRUE(c.remove("near", c.stamp_at("near")));
  EXPECT_EQ(c.places.copy_at("near", "a"), nullptr);
  ASSERT_EQ(c.places.removals().size(), 1u);
  EXPECT_EQ(c.places.removals()[0].item, "a");
  EXPECT_EQ(c.places.removals()[0].place, "near");
  EXPECT_TRUE(c.places.removals()[0].was_good);
  EXPECT_THAT(c.places.removals()[0].good_left, ElementsAre("far"));
  const auto gone = c.remove("near", "1");
  ASSERT_TRUE(gone);
  EXPECT_TRUE(gone->good);
  EXPECT_EQ(c.places.removals().size(), 1u);
  EXPECT_FALSE(c.verify("near"));
  EXPECT_EQ(c.places.copy_at("nowhere", "a"), nullptr);
}

TEST(SimulatedPlaces, a_good_copy_is_not_overwritten) {
  PlacesCase c;
  c.places.finish("near", "a");
  ASSERT_TRUE(c.copy_to("far", "near"));
  c.places.rewrite("far", "a");
  EXPECT_FALSE(c.places.is_good_at("near", "a"));
  EXPECT_TRUE(c.places.is_good_at("far", "a"));
  EXPECT_TRUE(c.places.copy_at("far", "a")->complete);
  EXPECT_FALSE(c.copy_to("far", "near"));
  c.places.rot("near", "a");
  c.places.rot("nowhere", "a");
  ASSERT_TRUE(c.copy_to("near", "far"));
  EXPECT_TRUE(c.places.is_good_at("near", "a"));
  c.places.rot("near", "a");
  EXPECT_FALSE(c.places.is_good_at("near", "a"));
  c.places.remove_by_other("near", "a");
  EXPECT_EQ(c.places.copy_at("near", "a"), nullptr);
  EXPECT_THAT(c.places.removals(), IsEmpty());
}

TEST(SimulatedPlaces, faults_occur_at_their_rate) {
  PlacesCase c;
  c.places.finish("near", "a");
  EXPECT_TRUE(c.places.is_calm());
  c.places.fail_next(1);
  EXPECT_FALSE(c.places.is_calm());
  EXPECT_FALSE(c.copy_to("far", "near"));
  EXPECT_EQ(c.places.copy_at("far", "a"), nullptr) << "without effect";
  c.places.tear_next(1);
  EXPECT_FALSE(c.places.is_calm());
  EXPECT_FALSE(c.copy_to("far", "near"));
  ASSERT_NE(c.places.copy_at("far", "a"), nullptr);
  EXPECT_FALSE(c.places.copy_at("far", "a")->complete);
  c.places.spoil_next(1);
  EXPECT_FALSE(c.places.is_calm());
  EXPECT_TRUE(c.copy_to("far", "near"));
  EXPECT_TRUE(c.places.copy_at("far", "a")->complete);
  EXPECT_FALSE(c.places.is_good_at("far", "a"));
  EXPECT_TRUE(c.copy_to("far", "near"));
  EXPECT_TRUE(c.places.is_good_at("far", "a"));
  c.places.lose_answers(1);
  EXPECT_FALSE(c.places.is_calm());
  EXPECT_FALSE(c.remove("far", c.stamp_at("far")));
  EXPECT_EQ(c.places.copy_at("far", "a"), nullptr);
  EXPECT_TRUE(c.places.is_calm());
  c.places.fail_next(1);
  c.places.tear_next(1);
  EXPECT_FALSE(c.places.is_calm());
}

TEST(SimulatedPlaces, absent_and_hidden_places_are_not_listed) {
  PlacesCase c;
  c.places.finish("near", "a");
  ASSERT_TRUE(c.copy_to("far", "near"));
  c.places.set_away("near", true);
  EXPECT_FALSE(c.places.is_calm());
  EXPECT_THAT(c.look().away, ElementsAre("near"));
  ASSERT_EQ(c.look().items[0].copies.size(), 1u);
  EXPECT_EQ(c.look().items[0].copies[0].place, "far");
  EXPECT_FALSE(c.verify("near"));
  EXPECT_FALSE(c.copy_to("far", "near"));
  EXPECT_TRUE(c.verify("far"));
  c.places.set_away("near", false);
  EXPECT_TRUE(c.places.is_calm());
  c.places.hide("far", "a", true);
  EXPECT_FALSE(c.places.is_calm());
  EXPECT_EQ(c.look().items[0].copies.size(), 1u);
  c.places.hide("near", "a", true);
  EXPECT_THAT(c.look().items, IsEmpty());
  c.places.hide("near", "a", false);
  c.places.hide("far", "a", false);
  EXPECT_EQ(c.look().items[0].copies.size(), 2u);
}

TEST(SimulatedPlaces, an_action_needs_its_copies) {
  PlacesCase c;
  c.places.finish("near", "a");
  ASSERT_TRUE(c.copy_to("far", "near"));
  const auto try_with = [&](const std::string& place, const std::string& stamp) {
    return c.places
        .act({.kind = LifecycleActionKind::verify,
              .item = "a",
              .place = "near",
              .needs = {{.item = "a", .place = place, .stamp = stamp}}})
        .has_value();
  };
  EXPECT_TRUE(try_with("far", c.stamp_at("far")));
  EXPECT_FALSE(try_with("far", "0"));
  EXPECT_FALSE(try_with("nowhere", c.stamp_at("far")));
  c.places.set_away("far", true);
  EXPECT_FALSE(try_with("far", c.stamp_at("far")));
  c.places.set_away("far", false);
  c.places.begin("far", "a", {});
  EXPECT_FALSE(try_with("far", c.stamp_at("far"))) << "not whole";
}

TEST(SimulatedPlaces, refused_actions_have_a_reason) {
  SimulatedPlaces places{{"near", "far"}};
  places.begin("near", "a", {.run = "r"});
  const auto said = [&](const storage::LifecycleAction& action) {
    const auto done = places.act(action);
    if (done) return std::string();
    EXPECT_EQ(done.error().front().code, "lifecycle.refused");
    return done.error().front().what;
  };
  const storage::LifecycleAction verify{
      .kind = LifecycleActionKind::verify, .item = "a", .place = "near"};
  const storage::LifecycleAction copy{
      .kind = LifecycleActionKind::copy, .item = "a", .place = "far", .from = "near"};
  EXPECT_NE(said(verify), "");
  places.finish("near", "a");
  EXPECT_EQ(said(verify), "");
  places.fail_next(1);
  EXPECT_EQ(said(verify), "injected");
  places.lose_answers(1);
  EXPECT_NE(said(verify), "");
  places.tear_next(1);
  EXPECT_NE(said(copy), "");
  places.set_away("near", true);
  EXPECT_NE(said(copy), "");
  places.set_away("near", false);
  places.set_away("far", true);
  EXPECT_NE(said(copy), "");
  places.set_away("far", false);
  EXPECT_EQ(said(copy), "");
  places.rewrite("far", "a");
  EXPECT_NE(said(copy), "");
  EXPECT_NE(said({.kind = LifecycleActionKind::remove, .item = "a", .place = "near"}), "");
}

// A need is met by a complete copy with that stamp at a place that answers.
TEST(SimulatedPlaces, incomplete_copies_do_not_count) {
  SimulatedPlaces places{{"near", "far"}};
  places.begin("near", "a", {.run = "r"});
  const auto verify = [&](const std::string& stamp) {
    return places
        .act({.kind = LifecycleActionKind::verify,
              .item = "b",
              .place = "far",
              .needs = {{"a", "near", stamp}}})
        .error()
        .front()
        .what;
  };
  EXPECT_NE(verify("1"), "");
  places.finish("near", "a");
  EXPECT_NE(verify("1"), "");
  EXPECT_NE(verify("2"), "");
}

}  // namespace
}  // namespace orrery::rehearse
