// Settings of published tests against rows, clause by clause: what must agree, how a layout is
// counted, which days and clients fit, and what makes neighbours one sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "study/score/rows_fixture.h"
#include "study/score/serving_tests.h"

namespace orrery::score {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two prefill replicas of 2 devices and three decode replicas of 4: 16 in all.
RowFields one_setting(const RowFields& more = {}) {
  return with_fields({{"accelerator", "gb200"},  {"engine", "trtllm"},     {"model", "DeepSeek"},
                      {"precision", "fp4"},      {"isl", "1024"},          {"osl", "512"},
                      {"prefill_replicas", "2"}, {"prefill_devices", "2"}, {"prefill_ep", "2"},
                      {"prefill_dp", "1"},       {"decode_replicas", "3"}, {"decode_devices", "4"},
                      {"decode_ep", "8"},        {"decode_dp", "0"},       {"guesses", "1"},
                      {"decode_batch", "16"},    {"clients", "4 8 16"},    {"since", "2026-01-10"},
                      {"until", "2026-02-10"},   {"set", "night"}},
                     more);
}

TestAsk one_ask() {
  return {.accelerator = "gb200",
          .engine = "trtllm",
          .model = "nvidia/DeepSeek-R1",
          .precision = "fp4",
          .run = "a",
          .day = {},
          .input = 1024,
          .output = 512,
          .clients = 8,
          .prefill_replicas = 0,
          .decode_replicas = 0,
          .prefill_devices = 2,
          .prefill_ep = 2,
          .decode_devices = 4};
}

using Change = std::function<void(TestAsk&)>;

std::vector<TestSetting> fits(const std::vector<RowFields>& tests, const Change& change) {
  TestAsk ask = one_ask();
  change(ask);
  return settings_for(table_of(tests), {ask})[0];
}
bool fits_one(const Change& change) { return fits({one_setting()}, change).size() == 1; }

TEST(TestSettings, a_setting_is_read_whole) {
  const auto found = fits({one_setting()}, [](TestAsk&) {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0],
            (TestSetting{.prefill = {.replicas = 2, .devices = 2, .ep = 2, .by_rank = true},
                         .decode = {.replicas = 3, .devices = 4, .ep = 8, .by_rank = false},
                         .guesses = 1,
                         .decode_batch = 16,
                         .set = "night"}));
  const auto blank =
      fits({{{"accelerator", "gb200"},
             {"engine", "trtllm"},
             {"model", "DeepSeek"},
             {"precision", "fp4"},
             {"isl", "1024"},
             {"osl", "512"},
             {"clients", "8"}}},
           [](TestAsk& a) { a.prefill_devices = a.prefill_ep = a.decode_devices = 1; });
  ASSERT_EQ(blank.size(), 1U);
  EXPECT_EQ(blank[0], (TestSetting{})) << "ones, and nothing";
}

TEST(TestSettings, every_word_and_length_must_agree) {
  EXPECT_TRUE(fits_one([](TestAsk&) {}));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.accelerator = "gb300"; }));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.engine = "sglang"; }));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.precision = "fp8"; }));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.model = "meta/Llama"; }));
  EXPECT_TRUE(fits_one([](TestAsk& a) { a.model = "DeepSeek"; })) << "it has the name in it";
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.input = 1025; }));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.output = 1024; }));
}

// Of one replica, of all of a role, or of both roles together; one device says nothing.
TEST(TestSettings, devices_are_of_a_replica_a_role_or_both) {
  const auto with = [](int prefill, int decode) {
    return fits_one([=](TestAsk& a) { a.prefill_devices = prefill, a.decode_devices = decode; });
  };
  EXPECT_TRUE(with(2, 4));
  EXPECT_TRUE(with(4, 12)) << "2 x 2 and 3 x 4";
  EXPECT_TRUE(with(1, 1));
  EXPECT_TRUE(with(1, 12));
  EXPECT_TRUE(with(16, 16)) << "4 + 12 together";
  EXPECT_FALSE(with(16, 4));
  EXPECT_FALSE(with(2, 16));
  EXPECT_FALSE(with(15, 15));
  EXPECT_FALSE(with(3, 4));
  EXPECT_FALSE(with(2, 6));
}

TEST(TestSettings, replicas_and_experts_that_a_row_names_must_agree) {
  EXPECT_TRUE(fits_one([](TestAsk& a) { a.prefill_replicas = 2, a.decode_replicas = 3; }));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.prefill_replicas = 3; }));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.decode_replicas = 2; }));
  EXPECT_TRUE(fits_one([](TestAsk& a) { a.prefill_ep = 1; })) << "one says nothing";
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.prefill_ep = 4; }));
  const Change together = [](TestAsk& a) {
    a.prefill_devices = a.decode_devices = 16;
    a.prefill_ep = 4;
  };
  EXPECT_TRUE(fits_one(together)) << "of both roles together nothing else is asked";
  EXPECT_FALSE(fits_one([&](TestAsk& a) { together(a), a.decode_replicas = 2; }));
}

TEST(TestSettings, clients_are_whole_numbers_of_a_list) {
  for (const double clients : {4.0, 8.0, 16.0}) {
    EXPECT_TRUE(fits_one([=](TestAsk& a) { a.clients = clients, a.decode_devices = 1; }));
  }
  for (const double clients : {1.0, 6.0, 32.0, 816.0}) {
    EXPECT_FALSE(fits_one([=](TestAsk& a) { a.clients = clients, a.decode_devices = 1; }));
    EXPECT_TRUE(fits_one([=](TestAsk& a) { a.clients = clients; }))
        << "a layout that is told fits with other clients";
  }
  // Not where a setting was tried with them.
  const std::vector<RowFields> two = {one_setting({{"clients", "4"}}),
                                      one_setting({{"clients", "8"}, {"guesses", "3"}})};
  const auto found = fits(two, [](TestAsk&) {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].guesses, 3);
}

TEST(TestSettings, a_day_is_from_since_until_the_day_before) {
  const std::vector<RowFields> tests = {
      one_setting(), one_setting({{"since", "2026-02-10"}, {"until", ""}, {"guesses", "2"}})};
  const auto guesses = [&](std::string_view day) {
    std::vector<int> all;
    for (const TestSetting& s : fits(tests, [&](TestAsk& a) { a.day = day; })) {
      all.push_back(s.guesses);
    }
    return all;
  };
  EXPECT_THAT(guesses("2026-01-10"), ElementsAre(1));
  EXPECT_THAT(guesses("2026-02-09"), ElementsAre(1));
  EXPECT_THAT(guesses("2026-02-10"), ElementsAre(2));
  EXPECT_THAT(guesses("2027-01-01"), ElementsAre(2)) << "no end is told";
  EXPECT_THAT(guesses("2026-01-09"), ElementsAre(1, 2)) << "none of that day: any";
  EXPECT_THAT(guesses(""), ElementsAre(1, 2));
}

TEST(TestSettings, each_fits_once_and_those_without_guesses_come_first) {
  const auto found = fits({one_setting({{"guesses", "3"}}), one_setting({{"guesses", "3"}}),
                           one_setting({{"guesses", "0"}}), one_setting({{"guesses", "2"}})},
                          [](TestAsk&) {});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].guesses, 0);
  EXPECT_EQ(found[1].guesses, 2);
  EXPECT_EQ(found[2].guesses, 3);
}

// The set that fits most rows of a run is all of the run's; of equals both stay.
TEST(TestSettings, a_run_is_of_the_set_that_fits_most_of_it) {
  const std::vector<RowFields> tests = {
      one_setting({{"set", "day"}, {"clients", "8"}}),
      one_setting({{"set", "night"}, {"clients", "8 16"}, {"guesses", "3"}})};
  TestAsk eight = one_ask(), sixteen = one_ask();
  sixteen.clients = 16;
  sixteen.prefill_ep = 1;  // another sweep
  const auto sets = [&](const std::vector<TestAsk>& asks, std::size_t at) {
    std::vector<std::string> all;
    const auto found = settings_for(table_of(tests), asks);
    for (const TestSetting& s : found[at]) all.push_back(s.set);
    return all;
  };
  EXPECT_THAT(sets({eight}, 0), ElementsAre("day", "night"));
  EXPECT_THAT(sets({eight, sixteen}, 0), ElementsAre("night"));
  EXPECT_THAT(sets({eight, sixteen}, 1), ElementsAre("night"));
  TestAsk moved = sixteen;
  moved.run = "b";
  EXPECT_THAT(sets({eight, moved}, 0), ElementsAre("day", "night")) << "another run";
}

// Neighbours that differ in their clients alone; anything else begins a new sweep.
TEST(TestSettings, a_sweep_ends_where_anything_but_the_clients_changes) {
  const auto ends = [](const Change& change) {
    std::vector<TestAsk> asks(3, one_ask());
    asks[0].clients = 4;
    asks[2].clients = 16;
    change(asks[1]);
    return ends_of_sweeps(asks);
  };
  EXPECT_THAT(ends([](TestAsk&) {}), ElementsAre(3));
  EXPECT_THAT(ends([](TestAsk& a) { a.day = "2026-01-11"; }), ElementsAre(3));
  const Change changes[] = {[](TestAsk& a) { a.accelerator = "b200"; },
                            [](TestAsk& a) { a.engine = "x"; },
                            [](TestAsk& a) { a.model = "x"; },
                            [](TestAsk& a) { a.precision = "x"; },
                            [](TestAsk& a) { a.run = "x"; },
                            [](TestAsk& a) { a.input = 1; },
                            [](TestAsk& a) { a.output = 1; },
                            [](TestAsk& a) { a.prefill_replicas = 7; },
                            [](TestAsk& a) { a.decode_replicas = 7; },
                            [](TestAsk& a) { a.prefill_devices = 7; },
                            [](TestAsk& a) { a.prefill_ep = 7; },
                            [](TestAsk& a) { a.decode_devices = 7; }};
  for (const Change& change : changes) EXPECT_THAT(ends(change), ElementsAre(1, 2, 3));
  EXPECT_THAT(ends([](TestAsk& a) { a.clients = 4; }), ElementsAre(1, 3)) << "tried before";
  EXPECT_THAT(ends([](TestAsk& a) { a.clients = 16; }), ElementsAre(2, 3));
  EXPECT_THAT(ends_of_sweeps({}), IsEmpty());
  EXPECT_THAT(ends_of_sweeps({one_ask()}), ElementsAre(1));
}

// What fits all rows of a sweep is each one's; where nothing does, each keeps its own.
TEST(TestSettings, a_sweep_has_the_settings_that_fit_all_of_it) {
  const std::vector<RowFields> tests = {one_setting({{"clients", "4 8"}}),
                                        one_setting({{"clients", "8 16"}, {"guesses", "3"}})};
  const auto counts = [&](const std::vector<double>& clients) {
    std::vector<TestAsk> asks;
    for (const double c : clients) {
      asks.push_back(one_ask());
      asks.back().clients = c;
    }
    std::vector<std::size_t> all;
    const auto fitting = settings_for(table_of(tests), asks);
    for (const auto& found : fitting) all.push_back(found.size());
    return all;
  };
  EXPECT_THAT(counts({8}), ElementsAre(2));
  EXPECT_THAT(counts({4, 8}), ElementsAre(1, 1));
  EXPECT_THAT(counts({8, 16}), ElementsAre(1, 1));
  EXPECT_THAT(counts({4, 8, 16}), ElementsAre(1, 2, 1)) << "nothing fits them all";
}

}  // namespace
}  // namespace orrery::score
