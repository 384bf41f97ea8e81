// Answers of the questions word for word, how wide their figures are, and that every parameter acts
// on some figure.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/machine/known_fixture.h"
#include "study/calc/calc.h"
#include "study/calc/calculators.h"

namespace orrery::calc {
namespace {

Calculation answered(const char* question, const CalcTexts& given = {}) {
  auto answer = calculate(*find_calculator(question), given, machine::known());
  EXPECT_TRUE(answer.has_value()) << question << ": " << (answer ? "" : to_text(answer.error()));
  return answer ? *std::move(answer) : Calculation{};
}

const figures::Number& figure_in(const Calculation& c, std::string_view id) {
  for (const figures::Number& f : c.figures) {
    if (f.id == id) return f;
  }
  ADD_FAILURE() << "no figure " << id;
  static const figures::Number none;
  return none;
}

struct Line {
  const char* id;
  const char* label;
  const char* formula;
};

void expect_lines(const Calculation& c, const std::vector<Line>& lines) {
  for (const Line& l : lines) {
    EXPECT_EQ(figure_in(c, l.id).label, l.label);
    EXPECT_EQ(figure_in(c, l.id).formula, l.formula) << l.id;
  }
}

TEST(CalcAnswers, OfACheckpoint) {
  const Calculation c =
      answered("checkpoint", {{"params", "70B"}, {"every", "30 min"}, {"stall", "30 s"}});
  EXPECT_EQ(c.question,
            "How large is a checkpoint of 70B parameters, and how long does it take to write?");
  EXPECT_EQ(c.answer, "980 GB (912.7 GiB), 24.5 s at 40 GB/s.");
  expect_lines(c, {{"size", "size", "70B parameters x 14 B = 980 GB"},
                   {"write_time", "write time, servers alone", "980 GB / 40 GB/s = 24.5 s"},
                   {"bandwidth_needed", "bandwidth that ends the write in 30 s",
                    "980 GB / 30 s = 32.7 GB/s"},
                   {"written_per_day", "written in a day", "980 GB x (1 d / 30 min) = 47 TB"}});
  EXPECT_EQ(c.assumptions.at(0),
            "14 B a parameter; mixed-precision Adam saves 2 (weight) + 4 (fp32 master) + 8 "
            "(moments) = 14");
  EXPECT_EQ(answered("checkpoint").question,
            "How large is a checkpoint of llama-3-70b, and how long does it take to write?");
}

// 6 x 70e9 x 2e12 / (1016 x 989.4e12 x 0.5 x 0.8) s are 24.2 days.
TEST(CalcAnswers, OfARun) {
  const Calculation c = answered(
      "train-time",
      {{"params", "70B"}, {"tokens", "2T"}, {"gpus", "1016"}, {"mfu", "0.5"}, {"goodput", "0.8"}});
  EXPECT_EQ(c.question, "How long does 70B parameters on 2T tokens take on 1,016 H100 SXM5 80GB?");
  EXPECT_EQ(c.answer, "24.2 d, 589583 accelerator-hours.");
  EXPECT_NEAR(figure_in(c, "time").estimate.value, 8.4e23 / (1016 * 989.4e12 * 0.4), 1);
  expect_lines(
      c,
      {{"flops_per_token_tflop", "TFLOP for a token, forward and backward", "6 x 70B = 420 GFLOP"},
       {"time", "time", "420 GFLOP x 2T / (1016 x 989 TFLOP/s x MFU 0.5 x goodput 0.8)"}});
  EXPECT_EQ(c.assumptions.at(0),
            "MFU 0.5 and goodput 0.8 as given; `orrery plan` computes both for a design");
  EXPECT_EQ(c.assumptions.at(1), "dense bf16 peak of 989 TFLOP/s (accelerators/h100-sxm)");
}

TEST(CalcAnswers, OfACache) {
  const Calculation c = answered("kv-cache", {{"context", "1000"}, {"requests", "7"}});
  EXPECT_EQ(c.question, "How large is the KV cache of llama-3-70b at 1000 tokens?");
  EXPECT_EQ(c.answer, "328 MB a request, 2.29 GB for 7 requests.");
  expect_lines(
      c, {{"per_token", "for one token", "2 x 80 layers x 8 KV heads x 128 x 2 B = 327.68 kB"},
          {"per_request", "for one request", "327.68 kB x 1000 tokens"},
          {"gqa_saving", "smaller than with one KV head for each query head", "64 / 8"}});
  EXPECT_EQ(c.assumptions.at(0), "bf16 elements");
  EXPECT_EQ(figure_in(answered("kv-cache", {{"model", "deepseek-v3"}}), "per_token").formula,
            "61 layers x (512 + 64) x 2 B = 70.272 kB");
}

TEST(CalcAnswers, OfGoodputAndSpares) {
  const Calculation g = answered("goodput", {{"every", "1 h"}});
  EXPECT_EQ(g.question, "What is left of the time with a failure every 3 h?");
  EXPECT_EQ(g.answer, "78.9 % of the time trains, saving every 1 h.");
  expect_lines(g, {{"young", "Young's interval", "sqrt(2 x 30 s x 3 h)"},
                   {"goodput", "goodput",
                    "tau / (M e^(R/M) (e^((tau + C)/M) - 1)) with tau 1 h, M 3 h, R 10 min, C 30 "
                    "s"}});
  const Calculation s =
      answered("spares", {{"nodes", "1000"}, {"node-mtbf", "100 d"}, {"repair", "2 d"}});
  EXPECT_EQ(s.question, "How many spares do 1000 nodes need?");
  EXPECT_EQ(s.answer, "31: too few are left 0.809 % of the time.");
  expect_lines(s, {{"in_repair", "nodes in repair on average", "1000 nodes x 2 d / 100 d"},
                   {"spares", "spares", "smallest k with P(Poisson(20) > k) < 0.01"}});
}

TEST(CalcAnswers, OfPowerAndMoney) {
  const Calculation p =
      answered("power", {{"count", "10"}, {"matrix", "0.5"}, {"communication", "0.2"}});
  EXPECT_EQ(p.question, "What do 10 DGX H100 draw?");
  EXPECT_EQ(p.answer, "102 kW at nameplate, 58.9 kW on average; 73.6 kW at the meter.");
  expect_lines(p,
               {{"nameplate", "nameplate", "10 x 10.2 kW"},
                {"mean", "mean of the work", "10 x (idle 1.9 kW + (peak 8.4 kW - idle) x phases)"},
                {"site", "site, mean", "58.9 kW x PUE 1.25"},
                {"nodes_per_rack", "nodes a rack with air-contained",
                 "30 kW a rack, bound by cooling method"}});
  EXPECT_EQ(p.assumptions.at(0),
            "matrix work 50 %, exposed communication 20 % of the time, the rest idle");
  const Calculation t =
      answered("tco", {{"count", "10"}, {"goodput", "0.8"}, {"utilisation", "0.5"}});
  EXPECT_EQ(t.question, "What does owning 10 DGX H100 cost?");
  double year = 0;
  for (const figures::Number& f : t.figures) {
    if (f.id != "useful_hour") year += f.estimate.value;
  }
  const double hour = figure_in(t, "useful_hour").estimate.value;
  EXPECT_NEAR(hour, year / (80 * 8760 * 0.4), 1e-6);
  EXPECT_EQ(t.answer, figures::show(year, figures::Unit::usd) + " a year, " +
                          fmt::format("{:.2f}", hour) + " USD per useful accelerator-hour.");
  EXPECT_EQ(figure_in(t, "useful_hour").formula,
            figures::show(year, figures::Unit::usd) + " / (80 accelerators x 8760 h x 0.5 x 0.8)");
  EXPECT_EQ(t.assumptions.at(0), "5 years at 10 %, residual 10 %");
}

TEST(CalcAnswers, OfTiersAndTheirDrives) {
  const Calculation d = answered("durability");
  EXPECT_EQ(d.question, "How likely does data with 8 + 2 survive a year?");
  expect_lines(d, {{"rebuild", "rebuild of a drive",
                    "10 min to notice + 20 TB / (250 MB/s x 0.2 x 1) = 4.64 d"},
                   {"overhead", "raw bytes for each byte stored", "10 / 8"}});
  EXPECT_EQ(d.assumptions.at(0),
            "1 % of drives fail a year; fleets of one model lie between 0.3 and 3 %");
  EXPECT_EQ(d.assumptions.at(1), "at most 1 of a group's 10 shards on one of 10 servers");
  const Calculation t = answered("tier");
  EXPECT_EQ(t.question, "What does 1 PB cost on hdd-cmr24 and on qlc-122?");
  EXPECT_EQ(t.answer, "hdd-cmr24 is cheaper to hold, qlc-122 draws less.");
  expect_lines(t, {{"usd_per_tb_hdd-cmr24", "to buy a usable TB on hdd-cmr24",
                    "88 devices in 4 servers, bound by read bandwidth"},
                   {"watts_per_tb_qlc-122", "to feed it on qlc-122",
                    "13 devices in 1 servers, bound by capacity"},
                   {"tie_price", "price of a TB of qlc-122 at which they do", ""}});
  const Calculation s = answered("tier-size");
  EXPECT_EQ(s.question, "How large is a tier for llama-3.1-405b and its data?");
  EXPECT_EQ(s.answer, "25 x tlc-gen5 in 3 servers, bought for capacity.");
  expect_lines(s, {{"save", "a checkpoint", "405.9B parameters x 14 B"},
                   {"devices", "devices of tlc-gen5",
                    "max(capacity 24.97, read 4.31, write 15.91), bound by capacity"},
                   {"servers", "servers",
                    "24 devices a server, 50 GB/s of network, which asks for more of them"},
                   {"read", "read rate bought", "as the servers' network carries it"},
                   {"write", "write rate bought", "as the servers' network carries it"},
                   {"nines", "durability, nines a year", "8 + 2 over 3 servers"}});
  const Calculation box = answered("tier-size", {{"device", "pfs-ddn-ai400x2"}});
  EXPECT_EQ(figure_in(box, "servers").formula, "one a device, as it is sold");
  EXPECT_EQ(figure_in(box, "read").formula, "");
  const Calculation wide = answered("tier-size", {{"server-network", "3200 Gb/s"}});
  EXPECT_EQ(figure_in(wide, "servers").formula, "24 devices a server, 400 GB/s of network");
}

// 64 ranks: 2 x 63 / 64 of the bytes.
TEST(CalcAnswers, OfMemoryAndMessages) {
  const Calculation m = answered("memory", {{"tp", "2"}});
  EXPECT_EQ(m.question, "How much memory does training llama-3-8b take on 8 H100 SXM5 80GB?");
  EXPECT_EQ(m.answer.substr(m.answer.find(" of ")),
            " of 76.8 GB on the fullest accelerator: it fits.");
  expect_lines(m, {{"weights", "weights", "4.015B parameters a model shard"},
                   {"optimizer", "optimizer state", "sharding zero1"},
                   {"activations", "activations", "1 microbatches in flight, recompute none"}});
  EXPECT_EQ(m.assumptions.at(0), "tp2 pp1 dp4 mbs1 zero1");
  EXPECT_EQ(m.assumptions.at(1), "sequence 4096");
  const Calculation c = answered("collective");
  EXPECT_EQ(c.question, "How long does all_reduce of 1.07 GB take over 64 ranks?");
  EXPECT_EQ(figure_in(c, "bus_bandwidth").formula, "1.07 GB / time x 1.969");
  EXPECT_EQ(c.assumptions.at(0), "8 ranks a scale-up domain, 8 NICs a host at 50 GB/s");
  const auto lone =
      calculate(*find_calculator("collective"), {{"node", "cpu-2s-server"}}, machine::known());
  ASSERT_FALSE(lone);
  EXPECT_EQ(lone.error().front().what, "cpu-2s-server has no accelerators");
}

TEST(CalcWidths, OfEachFigure) {
  const struct {
    const char* question;
    const char* id;
    double below, above;
    Basis basis;
  } rows[] = {
      {"checkpoint", "size", 0.005, 0.005, Basis::derived},
      {"checkpoint", "write_time", 0.12, 0.12, Basis::derived},
      {"checkpoint", "written_per_day", 0.005, 0.005, Basis::derived},
      {"train-time", "time", 0.2, 0.3, Basis::assumed},
      {"train-time", "accelerator_hours", 0.2, 0.3, Basis::assumed},
      {"train-time", "flops_per_token_tflop", 0, 0, Basis::derived},
      {"kv-cache", "all", 0, 0, Basis::derived},
      {"goodput", "young", 0, 0, Basis::derived},
      {"goodput", "goodput", 0.02, 0.02, Basis::derived},
      {"goodput", "lost_work", 0.02, 0.02, Basis::derived},
      {"spares", "in_repair", 0.3, 0.5, Basis::derived},
      {"spares", "spares", 0, 0, Basis::derived},
      {"power", "nameplate", 0.02, 0.02, Basis::vendor},
      {"power", "mean", 0.11, 0.11, Basis::fitted},
      {"power", "site", 0.15, 0.15, Basis::derived},
      {"power", "nodes_per_rack", 0, 0, Basis::derived},
      {"tco", "servers", 0.2, 0.2, Basis::derived},
      {"tco", "staff", 0.2, 0.2, Basis::derived},
      {"tco", "useful_hour", 0.2, 0.25, Basis::derived},
      {"durability", "rebuild", 0.5, 1, Basis::derived},
      {"durability", "overhead", 0, 0, Basis::derived},
      {"tier", "usd_per_tb_qlc-122", 0.35, 0.35, Basis::derived},
      {"tier", "hold_hdd-cmr24", 0.35, 0.35, Basis::derived},
      {"tier", "tie_tariff", 0.35, 0.35, Basis::derived},
      {"tier", "tie_price", 0.25, 0.25, Basis::derived},
      {"tier", "break_even_age", 0.5, 1, Basis::assumed},
      {"tier-size", "save", 0, 0, Basis::derived},
      {"tier-size", "devices", 0.25, 0.25, Basis::derived},
      {"tier-size", "servers", 0.25, 0.25, Basis::derived},
      {"tier-size", "usable", 0.05, 0.05, Basis::derived},
      {"tier-size", "read", 0.25, 0.25, Basis::derived},
      {"tier-size", "power", 0.25, 0.25, Basis::derived},
      {"tier-size", "price", 0.35, 0.35, Basis::derived},
      {"tier-size", "nines", 0.2, 0.2, Basis::derived},
  };
  for (const auto& row : rows) {
    const Estimate e = figure_in(answered(row.question), row.id).estimate;
    EXPECT_NEAR(e.low / e.value, 1 - row.below, 1e-9) << row.question << ' ' << row.id;
    EXPECT_NEAR(e.high / e.value, 1 + row.above, 1e-9) << row.question << ' ' << row.id;
    EXPECT_EQ(e.basis, row.basis) << row.question << ' ' << row.id;
  }
}

// Another value for every parameter of a question.
struct OtherValues {
  const char* question;
  std::vector<std::pair<const char*, const char*>> others;
};
const OtherValues kOthers[] = {
    {"checkpoint",
     {{"model", "llama-3-8b"},
      {"params", "3B"},
      {"bytes-per-param", "3"},
      {"write", "7 GB/s"},
      {"every", "7 min"}}},
    {"memory",
     {{"model", "llama-3-70b"},
      {"accelerator", "h200-sxm"},
      {"gpus", "16"},
      {"tp", "4"},
      {"pp", "2"},
      {"mbs", "2"},
      {"sequence", "2048"},
      {"sharding", "none"},
      {"recompute", "full"}}},
    {"train-time",
     {{"model", "llama-3-8b"},
      {"params", "3B"},
      {"tokens", "3T"},
      {"accelerator", "a100-80-sxm"},
      {"gpus", "999"},
      {"mfu", "0.33"},
      {"goodput", "0.77"},
      {"sequence", "4096"}}},
    {"kv-cache",
     {{"model", "llama-3-8b"}, {"context", "777"}, {"requests", "3"}, {"dtype", "fp8"}}},
    {"collective",
     {{"kind", "all_to_all"}, {"size", "3 MiB"}, {"node", "dgx-a100"}, {"ranks", "32"}}},
    {"goodput", {{"mtbf", "5 h"}, {"stall", "7 s"}, {"restart", "3 min"}, {"every", "2 h"}}},
    {"spares",
     {{"nodes", "999"}, {"node-mtbf", "99 d"}, {"repair", "3 d"}, {"shortfall", "0.0001"}}},
    {"power",
     {{"node", "dgx-a100"},
      {"count", "3"},
      {"matrix", "0.3"},
      {"communication", "0.01"},
      {"pue", "1.7"},
      {"cooling", "rear-door-active"}}},
    {"tco",
     {{"node", "dgx-a100"},
      {"count", "3"},
      {"pue", "1.7"},
      {"power-price", "0.3 USD/kWh"},
      {"goodput", "0.7"},
      {"utilisation", "0.3"}}},
    {"durability",
     {{"data", "9"},
      {"parity", "3"},
      {"failures", "0.03"},
      {"drive", "7 TB"},
      {"rate", "77 MB/s"},
      {"share", "0.7"},
      {"drives", "3"},
      {"servers", "4"},
      {"server-losses", "0.03"},
      {"object", "300 GB"}}},
    {"tier",
     {{"capacity", "7 PB"},
      {"read", "77 GB/s"},
      {"write", "99 GB/s"},
      {"device", "tlc-gen4"},
      {"against", "qlc-61"},
      {"power-price", "0.3 USD/kWh"},
      {"pue", "1.7"}}},
    {"tier-size",
     {{"model", "llama-3-70b"},
      {"bytes-per-param", "3"},
      {"keep", "9"},
      {"write-in", "3 s"},
      {"data-set", "900 TB"},
      {"read", "900 GB/s"},
      {"device", "qlc-61"},
      {"drives-per-server", "5"},
      {"server-network", "99 Gb/s"},
      {"data", "4"},
      {"parity", "3"}}},
};

// What a question is told of a parameter is in its figures.
TEST(CalcParameters, EachActsOnSomeFigure) {
  for (const OtherValues& row : kOthers) {
    const Calculation usual = answered(row.question);
    for (const auto& [name, text] : row.others) {
      const Calculation other = answered(row.question, {{name, text}});
      bool acts = usual.figures.size() != other.figures.size() ||
                  usual.answer.substr(usual.answer.find(" of ") + 1) !=
                      other.answer.substr(other.answer.find(" of ") + 1);
      for (std::size_t i = 0; !acts && i < usual.figures.size(); ++i) {
        acts = usual.figures[i].estimate.value != other.figures[i].estimate.value;
      }
      EXPECT_TRUE(acts) << row.question << " --" << name << ' ' << text;
    }
  }
}

TEST(CalcAnswers, HaveTheseFigures) {
  const struct {
    const char* question;
    const char* ids;
  } rows[] = {
      {"checkpoint", "size write_time written_per_day"},
      {"memory", "peak weights gradients optimizer activations logits workspace"},
      {"train-time", "flops_per_token_tflop time accelerator_hours"},
      {"kv-cache", "per_token per_request all gqa_saving"},
      {"collective", "time bus_bandwidth nic_rate scaleup_rate"},
      {"goodput", "young daly optimum goodput saving lost_work restarting"},
      {"spares", "in_repair spares"},
      {"power", "nameplate mean site nodes_per_rack"},
      {"tco", "servers network storage electricity colocation staff repair useful_hour"},
      {"durability", "nines rebuild overhead"},
      {"tier",
       "usd_per_tb_hdd-cmr24 watts_per_tb_hdd-cmr24 hold_hdd-cmr24 usd_per_tb_qlc-122 "
       "watts_per_tb_qlc-122 hold_qlc-122 tie_tariff tie_price break_even_age"},
      {"tier-size", "save devices servers usable read write power price nines"},
      {"serve",
       "users gpus batch_limit requests output_tokens ttft tpot rent usd_per_mtoken choice_2 "
       "choice_3 choice_4"},
  };
  for (const auto& row : rows) {
    std::string ids;
    const Calculation c = answered(row.question);
    for (const figures::Number& f : c.figures) ids += (ids.empty() ? "" : " ") + f.id;
    EXPECT_EQ(ids, row.ids) << row.question;
  }
}

// Who is served, on what, and what it is called.
TEST(CalcAnswers, OfServing) {
  const Calculation c = answered("serve", {{"model", "llama-3-8b"},
                                           {"gpus", "2"},
                                           {"engine", "vllm"},
                                           {"dtype", "bf16"},
                                           {"tp", "1"},
                                           {"roles", "joined"},
                                           {"input", "700"},
                                           {"output", "90"}});
  EXPECT_EQ(c.question, "Who can be served llama-3-8b on h100-sxm, 700 tokens in and 90 out?");
  const double users = figure_in(c, "users").estimate.value;
  EXPECT_EQ(c.answer, fmt::format("{} users at once on 2 accelerators: vllm in bf16, tp 1, 2 "
                                  "replicas.",
                                  std::floor(users)));
  EXPECT_EQ(figure_in(c, "users").formula, "vllm in bf16, tp 1, 2 replicas");
  EXPECT_EQ(figure_in(c, "gpus").estimate.value, 2);
  EXPECT_EQ(figure_in(c, "gpus").estimate.high, 2);
  EXPECT_EQ(figure_in(c, "batch_limit").label, "largest batch to allow an engine");
  EXPECT_GE(figure_in(c, "batch_limit").estimate.value, 1);
  EXPECT_NEAR(figure_in(c, "output_tokens").estimate.value,
              90 * figure_in(c, "requests").estimate.value, 1e-6);
  const double width = figure_in(c, "users").estimate.high / users - 1;
  for (const char* id : {"requests", "output_tokens", "tpot", "batch_limit", "usd_per_mtoken"}) {
    const Estimate& e = figure_in(c, id).estimate;
    EXPECT_NEAR(e.high / e.value - 1, width, 1e-9) << id;
  }
  const Calculation rated = answered("serve", {{"model", "llama-3-8b"},
                                               {"rate", "3"},
                                               {"engine", "vllm"},
                                               {"dtype", "bf16"},
                                               {"tp", "1"},
                                               {"roles", "joined"}});
  EXPECT_EQ(rated.answer,
            "3 requests a second need 1 accelerators: vllm in bf16, tp 1, 1 replicas.");
  const Calculation cut = answered("serve", {{"model", "llama-3-8b"},
                                             {"slice", "3g.40gb"},
                                             {"gpus", "1"},
                                             {"engine", "vllm"},
                                             {"dtype", "bf16"}});
  EXPECT_EQ(figure_in(cut, "users").formula, "vllm in bf16, tp 1, 2 replicas on slices of 3g.40gb");
}

TEST(CalcQuestions, HaveTheseDefaults) {
  EXPECT_EQ(CheckpointQuestion{}.write, gbytes_per_s(40));
  EXPECT_EQ(CheckpointQuestion{}.interval, hours(1));
  EXPECT_EQ(MemoryQuestion{}.gpus, 8);
  EXPECT_EQ(MemoryQuestion{}.tp * MemoryQuestion{}.pp * MemoryQuestion{}.microbatch, 1);
  EXPECT_EQ(MemoryQuestion{}.sharding + MemoryQuestion{}.recompute, "zero1none");
  EXPECT_EQ(TrainTimeQuestion{}.gpus, 8);
  EXPECT_EQ(KvCacheQuestion{}.dtype, catalog::Dtype::bf16);
  EXPECT_EQ(GoodputQuestion{}.stall, seconds(30));
  EXPECT_EQ(GoodputQuestion{}.restart, minutes(10));
  EXPECT_EQ(SparesQuestion{}.repair, days(1));
  EXPECT_EQ(SparesQuestion{}.shortfall, 0.01);
  EXPECT_EQ(PowerQuestion{}.matrix, 0.75);
  EXPECT_EQ(PowerQuestion{}.communication, 0.15);
  EXPECT_EQ(PowerQuestion{}.pue, 1.25);
  EXPECT_EQ(PowerQuestion{}.count, 1);
  EXPECT_EQ(TcoQuestion{}.pue, 1.25);
  EXPECT_EQ(TcoQuestion{}.goodput, 1);
  EXPECT_EQ(TcoQuestion{}.utilisation, 0.9);
  EXPECT_NEAR(TcoQuestion{}.electricity / usd_per_kwh(1), 0.08, 1e-12);
  EXPECT_EQ(CollectiveQuestion{}.bytes, gib(1));
  EXPECT_EQ(CollectiveQuestion{}.ranks, 8);
  EXPECT_FALSE(CollectiveQuestion{}.roce);
}

// Accelerators that nothing joins beyond their node.
TEST(CalcQuestions, RanksBeyondANodeWithoutNics) {
  catalog::Node alone = *machine::known().catalog().node("dgx-h100");
  alone.compute_nics = 0;
  CollectiveQuestion q{.node = &alone,
                       .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                       .ranks = 9};
  const auto refused = calc_collective(q, machine::known());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().what,
            "9 ranks leave the scale-up domain of 8, and dgx-h100 has no compute NIC");
  q.ranks = 8;
  EXPECT_TRUE(calc_collective(q, machine::known()));
  alone.compute_nics = 1;
  q.ranks = 9;
  EXPECT_TRUE(calc_collective(q, machine::known()));
}

TEST(CalcQuestions, AnEmptyTextIsNotInTheCommand) {
  EXPECT_EQ(command_of(*find_calculator("checkpoint"), {{"write", ""}, {"params", "3B"}}),
            "orrery calc checkpoint --params 3B");
}

// Two users who think for a second: what the tier is told and what it would be without.
TEST(CalcAnswers, OfAKvTier) {
  const CalcTexts given{{"model", "llama-3-8b"}, {"tp", "1"},      {"users", "2"},
                        {"turns", "3"},          {"think", "1 s"}, {"room", "1 GB"},
                        {"input", "8000"},       {"output", "600"}};
  const Calculation c = answered("kv-tier", given);
  EXPECT_EQ(c.question,
            "What does a KV tier of 1 GB give 2 users who talk with llama-3-8b in 3 turns?");
  EXPECT_EQ(c.answer, "The device holds it all: a tier brings nothing back.");
  const auto at = [&](const char* id) { return figure_in(c, id).estimate; };
  EXPECT_GT(at("on_device").value, 0.998) << "all but a block that is not full";
  EXPECT_EQ(at("fetched").value, 0);
  EXPECT_NEAR(at("computed").value, 1 - at("on_device").value, 1e-12);
  // A tier that nothing comes from changes nothing.
  EXPECT_EQ(at("ttft").value, at("ttft_without").value);
  EXPECT_EQ(at("ttft_p99").value, at("ttft_p99_without").value);
  EXPECT_EQ(at("requests").value, at("requests_without").value);
  EXPECT_GE(at("ttft_p99").value, at("ttft").value);
  // 2 x 32 layers x 8 heads x 128 in eight bits are 65,536 B a token.
  EXPECT_NEAR(at("tier_tokens").value, 1e9 / 65536, 64);
  EXPECT_GT(at("device_tokens").value, 5e5);
  const double error = at("tpot").high / at("tpot").value - 1;
  for (const char* id : {"ttft", "ttft_p99", "ttft_without", "ttft_p99_without"}) {
    EXPECT_NEAR(at(id).high / at(id).value - 1, 2 * error, 1e-9) << id;
  }
  for (const char* id : {"requests", "requests_without", "compute_token"}) {
    EXPECT_NEAR(at(id).high / at(id).value - 1, error, 1e-9) << id;
  }
  for (const char* id : {"device_tokens", "tier_tokens", "fetch_token"}) {
    EXPECT_EQ(at(id).high, at(id).value) << id;
  }
  EXPECT_EQ(figure_in(c, "fetch_token").formula, "bytes of its keys and values / rate of the tier");
}

}  // namespace
}  // namespace orrery::calc
