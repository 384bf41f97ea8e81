// What the sliders of each question offer and what is assumed where nothing is said: a page and a
// script that were made with them keep their meaning.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/text.h"
#include "model/machine/known_fixture.h"
#include "study/calc/calc.h"
#include "study/calc/calculators.h"

namespace orrery::calc {
namespace {

struct Slider {
  const char* question;
  const char* parameter;
  double low;
  double high;
  const char* unit;
  bool log;
};

constexpr Slider kSliders[] = {
    {"checkpoint", "params", 1e8, 2e12, "", true},
    {"checkpoint", "bytes-per-param", 2, 20, "", false},
    {"checkpoint", "write", 1, 2000, "GB/s", true},
    {"checkpoint", "stall", 1, 600, "s", true},
    {"checkpoint", "every", 1, 480, "min", true},
    {"memory", "gpus", 1, 16384, "", true},
    {"memory", "tp", 1, 64, "", true},
    {"memory", "pp", 1, 64, "", true},
    {"memory", "mbs", 1, 64, "", true},
    {"memory", "sequence", 512, 262144, "", true},
    {"train-time", "params", 1e8, 2e12, "", true},
    {"train-time", "tokens", 1e9, 5e13, "", true},
    {"train-time", "gpus", 8, 131072, "", true},
    {"train-time", "mfu", 0.05, 0.8, "", false},
    {"train-time", "goodput", 0.5, 1, "", false},
    {"train-time", "sequence", 512, 262144, "", true},
    {"kv-cache", "context", 256, 1048576, "", true},
    {"kv-cache", "requests", 1, 4096, "", true},
    {"collective", "size", 0.001, 16384, "MiB", true},
    {"collective", "ranks", 2, 16384, "", true},
    {"goodput", "mtbf", 0.1, 1000, "h", true},
    {"goodput", "stall", 0.1, 600, "s", true},
    {"goodput", "restart", 0.5, 120, "min", true},
    {"goodput", "every", 1, 480, "min", true},
    {"spares", "nodes", 1, 20000, "", true},
    {"spares", "node-mtbf", 5, 2000, "d", true},
    {"spares", "repair", 1, 720, "h", true},
    {"spares", "shortfall", 0.0001, 0.2, "", true},
    {"power", "count", 1, 5000, "", true},
    {"power", "matrix", 0, 1, "", false},
    {"power", "communication", 0, 1, "", false},
    {"power", "pue", 1, 2, "", false},
    {"tco", "count", 1, 5000, "", true},
    {"tco", "pue", 1, 2, "", false},
    {"tco", "power-price", 0.02, 0.4, "USD/kWh", false},
    {"tco", "goodput", 0.5, 1, "", false},
    {"tco", "utilisation", 0.1, 1, "", false},
    {"durability", "data", 1, 32, "", false},
    {"durability", "parity", 1, 8, "", false},
    {"durability", "failures", 0.001, 0.1, "", true},
    {"durability", "drive", 1, 250, "TB", true},
    {"durability", "rate", 50, 10000, "MB/s", true},
    {"durability", "share", 0.05, 1, "", false},
    {"durability", "drives", 1, 1000, "", false},
    {"durability", "servers", 1, 40, "", false},
    {"durability", "server-losses", 0, 0.05, "", false},
    {"durability", "object", 0.001, 1000, "GB", true},
    {"tier", "capacity", 1, 1000000, "TB", true},
    {"tier", "read", 0.01, 10000, "GB/s", true},
    {"tier", "write", 0.01, 10000, "GB/s", true},
    {"tier", "power-price", 0.02, 0.4, "USD/kWh", true},
    {"tier", "pue", 1, 2, "", false},
    {"tier-size", "bytes-per-param", 2, 16, "", false},
    {"tier-size", "keep", 1, 100, "", false},
    {"tier-size", "write-in", 1, 3600, "s", true},
    {"tier-size", "data-set", 1, 100000, "TB", true},
    {"tier-size", "read", 0.01, 10000, "GB/s", true},
    {"tier-size", "drives-per-server", 1, 100, "", false},
    {"tier-size", "server-network", 10, 3200, "Gb/s", true},
    {"tier-size", "data", 1, 32, "", false},
    {"tier-size", "parity", 1, 8, "", false},
    {"serve", "gpus", 1, 512, "", true},
    {"serve", "rate", 0.1, 10000, "", true},
    {"serve", "input", 16, 131072, "", true},
    {"serve", "output", 16, 131072, "", true},
    {"serve", "ttft", 5, 10000, "ms", true},
    {"serve", "tpot", 5, 10000, "ms", true},
    {"serve", "cached", 0, 0.99, "", false},
    {"serve", "tp", 1, 8, "", false},
    {"serve", "adapters", 1, 10000, "", true},
    {"serve", "rank", 1, 512, "", true},
    {"serve", "slots", 1, 256, "", true},
    {"kv-tier", "tp", 1, 8, "", false},
    {"kv-tier", "users", 1, 2000, "", false},
    {"kv-tier", "turns", 1, 64, "", false},
    {"kv-tier", "think", 1, 3600, "s", true},
    {"kv-tier", "input", 16, 32768, "", true},
    {"kv-tier", "output", 16, 8192, "", true},
    {"kv-tier", "room", 1, 100000, "GB", true},
    {"kv-tier", "rate", 0.1, 1000, "GB/s", true},
    {"kv-tier", "latency", 1, 100000, "us", true},
    {"kv-tier", "pool-links", 1, 16, "", false},
};

TEST(CalcSliders, offer_what_they_are_said_to) {
  std::size_t sliders = 0;
  for (const Calculator& c : calculators()) {
    for (const CalcParameter& p : c.parameters) sliders += p.high > p.low;
  }
  EXPECT_EQ(sliders, std::size(kSliders));
  for (const Slider& s : kSliders) {
    const CalcParameter* p = find_parameter(*find_calculator(s.question), s.parameter);
    ASSERT_NE(p, nullptr) << s.question << ' ' << s.parameter;
    EXPECT_DOUBLE_EQ(p->low, s.low) << s.question << ' ' << s.parameter;
    EXPECT_DOUBLE_EQ(p->high, s.high) << s.question << ' ' << s.parameter;
    EXPECT_EQ(p->unit, s.unit) << s.question << ' ' << s.parameter;
    EXPECT_EQ(p->log, s.log) << s.question << ' ' << s.parameter;
    EXPECT_TRUE(!s.log || s.low > 0) << s.question << ' ' << s.parameter;
    EXPECT_TRUE(p->can_sweep()) << s.question << ' ' << s.parameter;
  }
}

struct Presets {
  const char* question;
  const char* texts;  // blanks written as _
};

constexpr Presets kPresets[] = {
    {"checkpoint", "model=llama-3-70b bytes-per-param=14 write=40_GB/s every=1_h"},
    {"memory",
     "model=llama-3-8b accelerator=h100-sxm gpus=8 tp=1 pp=1 mbs=1 sequence=4096 sharding=zero1 "
     "recompute=none"},
    {"train-time",
     "model=llama-3-70b tokens=2T accelerator=h100-sxm gpus=1024 mfu=0.4 goodput=0.95 "
     "sequence=8192"},
    {"kv-cache", "model=llama-3-70b context=8192 requests=1 dtype=bf16"},
    {"collective", "kind=all_reduce size=1_GiB node=dgx-h100 ranks=64 roce=false"},
    {"goodput", "mtbf=3_h stall=30_s restart=10_min"},
    {"spares", "nodes=127 node-mtbf=264_d repair=1_d shortfall=0.01"},
    {"power",
     "node=dgx-h100 count=1 matrix=0.75 communication=0.15 pue=1.25 cooling=air-contained"},
    {"tco", "node=dgx-h100 count=127 pue=1.25 power-price=0.08_USD/kWh goodput=1 utilisation=0.9"},
    {"durability",
     "data=8 parity=2 failures=0.01 drive=20_TB rate=250_MB/s share=0.2 drives=1 servers=10 "
     "server-losses=0.001 object=1_GB"},
    {"tier",
     "capacity=1_PB read=20_GB/s write=10_GB/s device=hdd-cmr24 against=qlc-122 "
     "power-price=0.08_USD/kWh pue=1.3"},
    {"tier-size",
     "model=llama-3.1-405b bytes-per-param=14 keep=3 write-in=60_s data-set=100_TB read=50_GB/s "
     "device=tlc-gen5 drives-per-server=24 server-network=400_Gb/s data=8 parity=2"},
    {"serve",
     "model=llama-3-70b accelerator=h100-sxm gpus=8 input=1024 output=1024 ttft=2_s tpot=50_ms "
     "engine=any dtype=any roles=any"},
    {"kv-tier",
     "model=llama-3-70b accelerator=h100-sxm tp=2 engine=vllm dtype=fp8 users=150 turns=8 "
     "think=120_s input=500 output=250 room=500_GB latency=50_us pool-links=1"},
};

TEST(CalcSliders, assume_what_they_are_said_to) {
  ASSERT_EQ(calculators().size(), std::size(kPresets));
  for (const Presets& row : kPresets) {
    std::string texts;
    const auto* question = find_calculator(row.question);
    for (const CalcParameter& p : question->parameters) {
      if (p.preset.empty()) continue;
      std::string preset(p.preset);
      std::ranges::replace(preset, ' ', '_');
      texts += (texts.empty() ? "" : " ") + std::string(p.name) + '=' + preset;
    }
    EXPECT_EQ(texts, row.texts) << row.question;
  }
}

// A question in C++ that says nothing asks what a command line asks that says nothing.
TEST(CalcSliders, a_plain_question_has_the_same_presets) {
  const auto preset = [](const char* question, const char* name) {
    return parse_count(find_parameter(*find_calculator(question), name)->preset).value();
  };
  EXPECT_EQ(CheckpointQuestion{}.bytes_per_param, preset("checkpoint", "bytes-per-param"));
  EXPECT_EQ(MemoryQuestion{}.sequence, preset("memory", "sequence"));
  EXPECT_EQ(TrainTimeQuestion{}.sequence, preset("train-time", "sequence"));
  EXPECT_EQ(TrainTimeQuestion{}.mfu, preset("train-time", "mfu"));
  EXPECT_EQ(TrainTimeQuestion{}.goodput, preset("train-time", "goodput"));
  EXPECT_EQ(KvCacheQuestion{}.context, preset("kv-cache", "context"));
  EXPECT_EQ(KvCacheQuestion{}.requests, preset("kv-cache", "requests"));
}

std::string assumptions_of(const CalcTexts& given) {
  const auto answer = calculate(*find_calculator("tier-size"), given, machine::known());
  std::string all;
  for (const std::string& line : answer ? answer->assumptions : std::vector<std::string>()) {
    all += line + '\n';
  }
  return all;
}

// Three servers hold nine shards, three each; ten are four on one of them.
TEST(CalcSliders, a_tier_says_what_it_keeps_and_when_a_server_takes_data_away) {
  const std::string few =
      assumptions_of({{"data", "8"}, {"parity", "1"}, {"drives-per-server", "100"}, {"keep", "7"}});
  EXPECT_EQ(few,
            "erasure code 8 + 1, filled to 80 %; drives deliver 80 % of their rate\n"
            "7 checkpoints are kept and one is in flight\n"
            "a save is written while the data set is read; drives alone have prices and power "
            "here\n"
            "a server holds 3 of 9 shards, more than the 1 that may be lost: while one is down "
            "some of the data cannot be read; 9 servers or more outlive one\n");
  EXPECT_NE(assumptions_of({{"data", "8"}, {"parity", "2"}}).find("a server holds 4 of 10 shards"),
            std::string::npos);
  const std::string many = assumptions_of({{"data", "2"}, {"parity", "1"}});
  EXPECT_EQ(many.find("a server holds"), std::string::npos) << "one shard on each of three";
}

}  // namespace
}  // namespace orrery::calc
