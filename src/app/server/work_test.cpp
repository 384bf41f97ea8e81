// No request waits behind another's large design, and a large one ends when its client has left.
#include "app/server/work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace orrery::server::work_tests {
namespace {

TEST(Work, the_health_check_and_fixed_texts_are_quick_and_simulated_views_are_large) {
  EXPECT_EQ(work_of("/healthz"), Work::quick);
  EXPECT_EQ(work_of("/api/v1/rules"), Work::quick);
  EXPECT_EQ(work_of("/api/v1/plan"), Work::usual);
  EXPECT_EQ(work_of("/api/v1/jobs/{id}/events"), Work::usual);
  EXPECT_EQ(work_of("/api/v1/serving"), Work::large);
}

TEST(Work, ends_when_the_client_has_gone_or_its_cpu_time_is_used_up) {
  Request request;
  bool gone = false;
  request.abandoned = [&gone] { return gone; };
  const auto stop = stop_of(request, 60);
  EXPECT_FALSE(stop());
  gone = true;
  EXPECT_TRUE(stop());
  gone = false;
  EXPECT_TRUE(stop_of(request, 0)());
}

TEST(LargeGate, lets_a_few_in_a_few_wait_and_turns_the_others_away) {
  LargeGate gate(1, 1);
  const auto stays = [] { return false; };
  std::atomic<bool> entered = false;
  std::thread second;
  {
    const auto first = gate.enter(stays);
    ASSERT_TRUE(first);
    second = std::thread([&] { entered = static_cast<bool>(gate.enter(stays)); });
    // Until the second waits, a third would wait in its place; it leaves at once because its client
    // has gone.
    bool turned_away = false;
    for (int i = 0; i < 2000 && !turned_away; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      int asked = 0;
      turned_away = !gate.enter([&asked] { return ++asked > 0; }) && asked == 0;
    }
    EXPECT_TRUE(turned_away);
    EXPECT_FALSE(entered);
  }
  second.join();
  EXPECT_TRUE(entered) << "its turn comes when the first ends";
  EXPECT_TRUE(gate.enter(stays));
}

TEST(LargeGate, one_whose_client_leaves_stops_waiting) {
  LargeGate gate(1, 4);
  const auto first = gate.enter([] { return false; });
  EXPECT_FALSE(gate.enter([] { return true; }));
}

}  // namespace
}  // namespace orrery::server::work_tests
