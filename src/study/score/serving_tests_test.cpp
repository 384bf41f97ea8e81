#include "study/score/serving_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>

#include "model/machine/known_fixture.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_rows.h"

namespace orrery::score {
namespace {

using Change = std::function<void(TestAsk&)>;
using testing::ElementsAre;
using testing::IsEmpty;

TestAsk plain_ask() {
  return {.accelerator = "gb200",
          .engine = "trtllm",
          .model = "deepseek-ai/DeepSeek-R1",
          .precision = "fp4",
          .run = "a",
          .day = {},
          .input = 1024,
          .output = 512,
          .clients = 8,
          .prefill_devices = 4,
          .prefill_ep = 4,
          .decode_devices = 8};
}

constexpr std::string_view kSettingsHead =
    "accelerator,engine,model,precision,isl,osl,prefill_replicas,prefill_devices,prefill_ep,"
    "prefill_dp,decode_replicas,decode_devices,decode_ep,decode_dp,guesses,decode_batch,clients,"
    "since,until,set\n";

std::string setting(const std::string& layout) {
  return "gb200,trtllm,DeepSeek,fp4,1000,2000," + layout + ",96 128,,,\n";
}

constexpr std::string_view kSettingHead =
    "accelerator,engine,model,precision,isl,osl,prefill_replicas,prefill_devices,prefill_ep,"
    "prefill_dp,decode_replicas,decode_devices,decode_ep,decode_dp,guesses,decode_batch,clients,"
    "since,until,set\n";

// Rows with prefill on four devices and decode on eight; `workers` "2,3" names their replicas.
ServedApart set_row(const std::string& settings, const std::vector<std::string>& workers) {
  const CsvTable tests = CsvTable::parse(std::string(kSettingHead) + settings, "t.csv").value();
  std::string text =
      "id,backend,model_path,system,precision,mode,isl,osl,batch_size,prefill_tp_size,"
      "prefill_moe_ep_size,decode_tp_size,prefill_num_workers,decode_num_workers\n";
  for (const std::string& w : workers) {
    text += "a,trtllm,deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,1000,2000,96,4,4,8," + w + "\n";
  }
  const CsvTable table = CsvTable::parse(text, "a.csv").value();
  ScoreInputs inputs = known_inputs();
  inputs.tests = &tests;
  const auto read = ApartRows(table, inputs).read(table.rows().at(0), inputs);
  EXPECT_TRUE(read) << read.error();
  return *read;
}

RowFields apart_fields(const RowFields& more) {
  return with_fields({{"id", "a"},
                      {"silicon_data_source", "x; silicon_concurrency=64; measured=2026-02-03"},
                      {"mode", "disagg"},
                      {"backend", "sglang"},
                      {"model_path", "deepseek-ai/DeepSeek-R1"},
                      {"system", "h200_sxm"},
                      {"precision", "fp8"},
                      {"isl", "1024"},
                      {"osl", "1024"},
                      {"batch_size", "3"},
                      {"prefill_tp_size", "8"},
                      {"decode_tp_size", "8"}},
                     more);
}

// DeepSeek's models of one shape are one series of tests, whatever a dump calls them.
TEST(ServingTests, a_dump_covers_all_deepseek_names) {
  const auto checked = [](const char* other) {
    const RowFields row = {{"id", "a"},
                           {"silicon_data_source", "x; measured=2026-02-03"},
                           {"mode", "disagg"},
                           {"backend", "trtllm"},
                           {"model_path", "deepseek-ai/DeepSeek-R1"},
                           {"system", "gb200"},
                           {"precision", "fp4"},
                           {"isl", "1024"},
                           {"osl", "1024"},
                           {"batch_size", "12"},
                           {"prefill_tp_size", "4"},
                           {"decode_tp_size", "8"},
                           {"decode_moe_ep_size", "4"}};
    const CsvTable table = table_of({row, with_fields(row, {{"id", "b"},
                                                            {"model_path", other},
                                                            {"batch_size", "48"},
                                                            {"prefill_num_workers", "1"},
                                                            {"decode_num_workers", "4"}})});
    const auto read = ApartRows(table, known_inputs()).read(table.rows().at(0), known_inputs());
    EXPECT_TRUE(read);
    return read->guessed;
  };
  EXPECT_TRUE(checked("deepseek-ai/DeepSeek-R1"));
  EXPECT_TRUE(checked("nvidia/DeepSeek-R1-0528-FP4"));
  EXPECT_FALSE(checked("moonshotai/Kimi-K2-Instruct"));
}

// If two rows of one test disagree, a third that agrees with the first changes nothing.
TEST(ServingTests, rows_of_one_test_must_agree) {
  const auto named = [](const char* replicas) {
    return apart_fields({{"prefill_num_workers", "1"}, {"decode_num_workers", replicas}});
  };
  const auto from = [&](const std::vector<RowFields>& others) {
    std::vector<RowFields> rows = others;
    rows.push_back(apart_fields({}));
    const CsvTable table = table_of(rows);
    const auto read = ApartRows(table, known_inputs()).read(table.rows().back(), known_inputs());
    EXPECT_TRUE(read);
    return read->from;
  };
  EXPECT_EQ(from({named("2")}), ReplicasFrom::same_test);
  EXPECT_EQ(from({named("2"), named("2")}), ReplicasFrom::same_test);
  EXPECT_EQ(from({named("2"), named("3")}), ReplicasFrom::usual);
  EXPECT_EQ(from({named("2"), named("3"), named("2")}), ReplicasFrom::usual);
}

// The source's number of clients comes first, one is a number, and a row without one is skipped.
TEST(ServingTests, clients_come_from_the_source) {
  const auto clients = [](const std::string& source) {
    const CsvTable table = table_of({apart_fields({{"silicon_data_source", source}})});
    const auto q = read_serving_row(table, table.rows()[0], known_inputs(), "decode_");
    return q ? q->concurrency : -1;
  };
  EXPECT_EQ(clients("x; silicon_concurrency=64"), 64);
  EXPECT_EQ(clients("x; silicon_concurrency=1; y=2"), 1);
  EXPECT_EQ(clients("x"), 3);
  EXPECT_EQ(clients("x; silicon_concurrency=0"), -1);
  EXPECT_EQ(clients("x; silicon_concurrency=many"), -1);
}

TEST(ServingTests, the_only_matching_setting_is_used) {
  const ServedApart r = set_row(setting("2,4,4,1,3,8,2,0,1,17"), {","});
  EXPECT_EQ(r.from, ReplicasFrom::settings);
  EXPECT_FALSE(r.guessed);
  EXPECT_EQ(r.query.prefill_replicas, 2);
  EXPECT_EQ(r.query.decode_replicas, 3);
  EXPECT_EQ(r.query.prefill.split.tp, 1);
  EXPECT_EQ(r.query.prefill.split.attention_dp, 4);
  EXPECT_EQ(r.query.prefill.split.ep, 4);
  EXPECT_EQ(r.query.decode.split.tp, 8);
  EXPECT_EQ(r.query.decode.split.attention_dp, 1);
  EXPECT_EQ(r.query.decode.split.ep, 2);
  EXPECT_EQ(r.query.decode.limits->max_sequences, 17);
  // TensorRT-LLM's budget for the prompt and its clients, for each of four ranks: less than 8,192.
  EXPECT_EQ(r.query.prefill.limits->token_budget, 8192.0 / 4);
  EXPECT_EQ(r.query.prefill.limits->max_sequences, 4096);
  EXPECT_EQ(r.query.decode.request.checked_per_step, 2);
  EXPECT_EQ(r.query.decode.request.accepted_per_step, 1.75);
  EXPECT_EQ(r.query.prefill.request.checked_per_step, 1);
  EXPECT_DOUBLE_EQ(r.query.decode.request.input, 900);
  EXPECT_DOUBLE_EQ(r.query.prefill.request.output, 1800);
  const ServedApart plain = set_row(setting("2,4,4,1,3,8,8,1,0,0"), {","});
  EXPECT_EQ(plain.query.decode.request.checked_per_step, 1);
  EXPECT_EQ(plain.query.decode.split.attention_dp, 8);
  EXPECT_EQ(plain.query.decode.limits->max_sequences, 4096);
}

TEST(ServingTests, equal_decode_settings_are_one) {
  const std::string first = setting("2,4,4,1,3,8,2,0,1,17");
  const auto from = [&](const std::string& second, const std::string& other_row = "") {
    std::vector<std::string> workers = {","};
    if (!other_row.empty()) workers.push_back(other_row);
    return set_row(first + setting(second), workers).from;
  };
  EXPECT_EQ(from("5,4,4,1,3,8,2,0,1,17"), ReplicasFrom::settings);
  EXPECT_EQ(from("2,4,4,1,6,8,2,0,1,17"), ReplicasFrom::usual);
  EXPECT_EQ(from("2,4,4,1,3,8,2,0,2,17"), ReplicasFrom::usual);
  EXPECT_EQ(from("2,4,4,1,3,8,2,0,1,18"), ReplicasFrom::usual);
  EXPECT_EQ(from("2,4,4,1,6,8,2,0,1,17", "7,9"), ReplicasFrom::same_test);
}

// Two settings differ and no row decides: the first is used.
TEST(ServingTests, the_first_of_several_settings_is_used) {
  const ServedApart r =
      set_row(setting("2,4,4,1,3,8,2,0,1,17") + setting("2,4,4,1,6,8,2,0,0,5"), {","});
  EXPECT_EQ(r.from, ReplicasFrom::usual);
  EXPECT_EQ(r.query.decode_replicas, 6);
  EXPECT_EQ(r.query.decode.limits->max_sequences, 5);
}

TEST(ServingTests, slots_come_from_the_settings) {
  const std::string settings = setting("2,4,4,1,3,8,2,0,0,17") + setting("2,4,4,1,6,8,2,0,0,18") +
                               setting("2,4,4,1,9,8,2,0,3,19");
  const auto places = [&](const std::string& workers) {
    const ServedApart r = set_row(settings, {workers});
    EXPECT_EQ(r.from, ReplicasFrom::row);
    return r.query.decode.limits->max_sequences;
  };
  EXPECT_EQ(places("2,3"), 17);
  EXPECT_EQ(places("2,6"), 18);
  EXPECT_EQ(places("2,9"), 4096);
}

constexpr std::string_view kTests =
    "accelerator,engine,model,precision,isl,osl,prefill_replicas,prefill_devices,prefill_ep,"
    "prefill_dp,decode_replicas,decode_devices,decode_ep,decode_dp,guesses,decode_batch,clients,"
    "since,until,set\n"
    "gb200,trtllm,DeepSeek,fp4,1024,1024,1,4,4,1,4,8,8,0,3,8,4 8 12,2026-01-01,2026-02-01,\n"
    "gb200,trtllm,DeepSeek,fp4,1024,1024,1,4,4,1,4,8,8,0,0,32,8 16,2026-01-01,2026-02-01,\n"
    "gb200,trtllm,DeepSeek,fp4,1024,1024,1,4,4,1,5,8,8,0,0,0,12,2026-02-01,,\n"
    "h200-sxm,sglang,DeepSeek,fp8,1024,1024,1,8,8,0,3,8,8,0,0,0,4 16,2026-01-01,,\n"
    "h200-sxm,sglang,DeepSeek,fp8,1024,1024,1,8,8,0,3,8,8,0,3,0,4 8 16,2026-01-01,,mtp\n";

TestAsk gb200(double clients, int prefill = 4, int decode = 8, std::string_view day = {}) {
  return {.accelerator = "gb200",
          .engine = "trtllm",
          .model = "deepseek-ai/DeepSeek-R1",
          .precision = "fp4",
          .run = "a",
          .day = day,
          .input = 1024,
          .output = 1024,
          .clients = clients,
          .prefill_devices = prefill,
          .prefill_ep = 4,
          .decode_devices = decode};
}

std::vector<std::vector<TestSetting>> asked(const std::vector<TestAsk>& asks) {
  return settings_for(CsvTable::parse(kTests, "tests.csv").value(), asks);
}

std::vector<TestSetting> asked(const TestAsk& ask) { return asked(std::vector{ask})[0]; }

TEST(ServingTests, a_row_matches_by_replica_group_or_roles) {
  for (const int devices : {1, 8, 32}) {
    const auto fitting = asked(gb200(4, 4, devices));
    ASSERT_EQ(fitting.size(), 1u) << devices;
    EXPECT_EQ(fitting[0].guesses, 3);
    EXPECT_EQ(fitting[0].decode.replicas, 4);
    EXPECT_EQ(fitting[0].decode_batch, 8);
    EXPECT_TRUE(fitting[0].prefill.by_rank);
  }
  EXPECT_EQ(asked(gb200(4, 36, 36)).size(), 1u);
  EXPECT_TRUE(asked(gb200(4, 4, 16)).empty());
  EXPECT_EQ(asked(gb200(5, 4, 8)).size(), 3u);
  TestAsk counted = gb200(4);
  counted.decode_replicas = 5;
  ASSERT_EQ(asked(counted).size(), 1u);
  EXPECT_EQ(asked(counted)[0].decode.replicas, 5);
}

TEST(ServingTests, settings_without_speculation_come_first) {
  const auto fitting = asked(gb200(8));
  ASSERT_EQ(fitting.size(), 2u);
  EXPECT_EQ(fitting[0].guesses, 0);
}

TEST(ServingTests, the_date_selects_the_setting) {
  ASSERT_EQ(asked(gb200(12, 4, 8, "2026-02-01")).size(), 1u);
  EXPECT_EQ(asked(gb200(12, 4, 8, "2026-02-01"))[0].decode.replicas, 5);
  EXPECT_EQ(asked(gb200(12, 4, 8, "2026-01-31"))[0].decode.replicas, 4);
  EXPECT_EQ(asked(gb200(12)).size(), 2u);
}

// Four and eight clients in one sweep: only the test with guesses tried both.
TEST(ServingTests, a_sweep_has_one_setting) {
  const auto found = asked(std::vector{gb200(4), gb200(8), gb200(16), gb200(8)});
  ASSERT_EQ(found[1].size(), 2u);
  const auto sweep = asked(std::vector{gb200(4), gb200(8)});
  ASSERT_EQ(sweep[1].size(), 1u);
  EXPECT_EQ(sweep[1][0].guesses, 3);
  const auto again = asked(std::vector{gb200(8), gb200(8), gb200(4)});
  EXPECT_EQ(again[0].size(), 2u);
  EXPECT_EQ(again[1].size(), 1u);
}

// Eight clients were tried only with guesses: the whole run uses that set.
TEST(ServingTests, a_run_uses_one_set_of_settings) {
  const auto h200 = [](double clients, const char* run) {
    TestAsk ask = gb200(clients, 8, 8);
    ask.accelerator = "h200-sxm";
    ask.engine = "sglang";
    ask.precision = "fp8";
    ask.prefill_ep = 8;
    ask.run = run;
    return ask;
  };
  const auto found = asked(std::vector{h200(16, "a"), gb200(4), h200(8, "a"), h200(16, "b")});
  ASSERT_EQ(found[0].size(), 1u);
  EXPECT_EQ(found[0][0].guesses, 3);
  EXPECT_EQ(found[3].size(), 2u);
}

// A dump that names replicas has no tests with guesses: a row of its day that it lacks is taken to
// guess, three tokens, or one if ranks are crowded. Of equal rows, one is of each kind.
TEST(ServingTests, rows_missing_from_a_plain_dump_use_speculation) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const auto checked = [&inputs](const std::string& engine, const std::vector<std::string>& clients,
                                 const std::string& day, const std::string& devices = "8",
                                 const std::string& model = "deepseek-ai/DeepSeek-R1") {
    std::string text =
        "id,silicon_data_source,backend,model_path,system,precision,mode,isl,osl,batch_size,"
        "prefill_tp_size,decode_tp_size,decode_moe_ep_size,prefill_num_workers,"
        "decode_num_workers\n";
    const std::string row = "," + engine + "," + model + ",gb200,fp4,disagg,1024,1024,";
    for (const std::string& c : clients)
      text += "a,x; measured=2026-02-03" + row + c + ",4," + devices + ",4,,\n";
    text += "b,y; measured=" + day + row + "48,4,8,4,1,4\n";
    const CsvTable table = CsvTable::parse(text, "apart.csv").value();
    const auto read = ApartRows(table, inputs).read(table.rows().at(0), inputs);
    EXPECT_TRUE(read);
    return read->query.decode.request.checked_per_step;
  };
  const std::string day = "2026-02-03";
  EXPECT_EQ(checked("trtllm", {"12"}, day), 4);
  EXPECT_EQ(checked("trtllm", {"2253"}, day, "32"), 2) << "70 a rank";
  EXPECT_EQ(checked("trtllm", {"48"}, day), 1);
  EXPECT_EQ(checked("trtllm", {"12"}, "2026-02-04"), 1);
  EXPECT_EQ(checked("trtllm", {"12", "12"}, day), 1);
  EXPECT_EQ(checked("sglang", {"12"}, day), 1);
  EXPECT_EQ(checked("trtllm", {"12"}, day, "8", "moonshotai/Kimi-K2-Instruct"), 1);
}

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

std::vector<TestSetting> fits(const std::vector<RowFields>& tests, const Change& change) {
  TestAsk ask = one_ask();
  change(ask);
  return settings_for(table_of(tests), {ask})[0];
}

bool fits_one(const Change& change) { return fits({one_setting()}, change).size() == 1; }

TEST(ServingTests, a_setting_is_read) {
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
  EXPECT_EQ(blank[0], (TestSetting{}));
}

// Devices of one replica, of a role, or of both roles; one device is ambiguous.
TEST(ServingTests, devices_are_per_replica_role_or_both) {
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

TEST(ServingTests, named_replicas_and_experts_must_agree) {
  EXPECT_TRUE(fits_one([](TestAsk& a) { a.prefill_replicas = 2, a.decode_replicas = 3; }));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.prefill_replicas = 3; }));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.decode_replicas = 2; }));
  EXPECT_TRUE(fits_one([](TestAsk& a) { a.prefill_ep = 1; }));
  EXPECT_FALSE(fits_one([](TestAsk& a) { a.prefill_ep = 4; }));
  const Change together = [](TestAsk& a) {
    a.prefill_devices = a.decode_devices = 16;
    a.prefill_ep = 4;
  };
  EXPECT_TRUE(fits_one(together));
  EXPECT_FALSE(fits_one([&](TestAsk& a) { together(a), a.decode_replicas = 2; }));
}

TEST(ServingTests, clients_are_a_list_of_whole_numbers) {
  for (const double clients : {4.0, 8.0, 16.0}) {
    EXPECT_TRUE(fits_one([=](TestAsk& a) { a.clients = clients, a.decode_devices = 1; }));
  }
  for (const double clients : {1.0, 6.0, 32.0, 816.0}) {
    EXPECT_FALSE(fits_one([=](TestAsk& a) { a.clients = clients, a.decode_devices = 1; }));
    EXPECT_TRUE(fits_one([=](TestAsk& a) { a.clients = clients; }));
  }
  // Not if a setting was tried with them.
  const std::vector<RowFields> two = {one_setting({{"clients", "4"}}),
                                      one_setting({{"clients", "8"}, {"guesses", "3"}})};
  const auto found = fits(two, [](TestAsk&) {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].guesses, 3);
}

TEST(ServingTests, each_setting_matches_once) {
  const auto found = fits({one_setting({{"guesses", "3"}}), one_setting({{"guesses", "3"}}),
                           one_setting({{"guesses", "0"}}), one_setting({{"guesses", "2"}})},
                          [](TestAsk&) {});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].guesses, 0);
  EXPECT_EQ(found[1].guesses, 2);
  EXPECT_EQ(found[2].guesses, 3);
}

// The set that fits most rows of a run applies to the whole run; if two sets tie, both stay.
TEST(ServingTests, a_run_uses_the_best_matching_set) {
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

// Neighbours that differ only in their clients; any other difference begins a new sweep.
TEST(ServingTests, a_sweep_varies_only_in_clients) {
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

// A setting that fits all rows of a sweep applies to each; if none does, each row keeps its own.
TEST(ServingTests, settings_must_match_the_whole_sweep) {
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
  EXPECT_THAT(counts({4, 8, 16}), ElementsAre(1, 2, 1));
}

// A setting belongs to its accelerator, engine, model, format and lengths, all of them.
TEST(ServingTests, a_setting_belongs_to_its_test) {
  const auto found = [](const std::string& head) {
    const std::string line = head + ",1,4,4,1,3,8,8,0,0,32,8,2026-01-01,,\n";
    const CsvTable table = CsvTable::parse(std::string(kSettingsHead) + line, "t.csv").value();
    return settings_for(table, std::vector{plain_ask()})[0].size();
  };
  EXPECT_EQ(found("gb200,trtllm,DeepSeek,fp4,1024,512"), 1U);
  EXPECT_EQ(found("gb300,trtllm,DeepSeek,fp4,1024,512"), 0U);
  EXPECT_EQ(found("gb200,sglang,DeepSeek,fp4,1024,512"), 0U);
  EXPECT_EQ(found("gb200,trtllm,Llama,fp4,1024,512"), 0U);
  EXPECT_EQ(found("gb200,trtllm,DeepSeek,fp8,1024,512"), 0U);
  EXPECT_EQ(found("gb200,trtllm,DeepSeek,fp4,1025,512"), 0U);
  EXPECT_EQ(found("gb200,trtllm,DeepSeek,fp4,1024,513"), 0U);
}

}  // namespace
}  // namespace orrery::score
