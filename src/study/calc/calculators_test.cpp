#include "study/calc/calculators.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "study/calc/answer_fixture.h"
#include "study/calc/calc.h"

namespace orrery::calc {
namespace {

// A different value for every parameter of a question.
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

// Every parameter changes some figure.
TEST(Calculators, every_parameter_changes_a_figure) {
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

// The command line reads its default; a parameter without one is a count, a quantity or an id.
TEST(Calculators, numbers_have_presets) {
  for (const Calculator& c : calculators()) {
    for (const CalcParameter& p : c.parameters) {
      if (p.kind == ParameterKind::integer || p.kind == ParameterKind::number) {
        EXPECT_FALSE(p.preset.empty()) << c.name << " --" << p.name;
      }
    }
  }
}

// A question in C++ with no fields set equals a command line without options.
TEST(Calculators, defaults_equal_the_presets) {
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

}  // namespace
}  // namespace orrery::calc
