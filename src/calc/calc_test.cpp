// The questions asked by text, as a user asks them, beside arithmetic done by hand. Prices, drives
// and peaks are read from the catalog, so that a new price moves no expectation.
#include <gtest/gtest.h>

#include <cmath>

#include "calc/calculators.h"
#include "machine/known_fixture.h"

namespace orrery::calc {
namespace {

const machine::Models& models() { return machine::known(); }
const catalog::Catalog& parts() { return models().catalog(); }

Result<Calculation> ask(std::string_view question, const CalcTexts& given = {}) {
  return calculate(*find_calculator(question), given, models());
}

std::string code_of(std::string_view question, const CalcTexts& given) {
  const auto answer = ask(question, given);
  return answer ? "" : answer.error().front().code;
}

const Estimate& figure(const Calculation& c, std::string_view id) {
  for (const machine::Figure& f : c.figures) {
    if (f.id == id) return f.estimate;
  }
  static const Estimate kNone{.value = -1};
  ADD_FAILURE() << "no figure " << id;
  return kNone;
}

double value(std::string_view question, const CalcTexts& given, std::string_view id) {
  const auto answer = ask(question, given);
  EXPECT_TRUE(answer.has_value()) << question;
  return answer ? figure(*answer, id).value : -1;
}

bool has(const Calculation& c, std::string_view id) {
  for (const machine::Figure& f : c.figures) {
    if (f.id == id) return true;
  }
  return false;
}

// 70e9 x 14 B = 980 GB; at 40 GB/s 24.5 s; within 30 s 32.67 GB/s; every half hour 48 x 980 GB.
TEST(Calc, CheckpointIsParametersTimesBytes) {
  const CalcTexts given{{"params", "70B"}, {"every", "30 min"}, {"stall", "30 s"}};
  EXPECT_DOUBLE_EQ(value("checkpoint", given, "size"), 980e9);
  EXPECT_DOUBLE_EQ(value("checkpoint", given, "write_time"), 24.5);
  EXPECT_NEAR(value("checkpoint", given, "bandwidth_needed"), 980e9 / 30, 1);
  EXPECT_DOUBLE_EQ(value("checkpoint", given, "written_per_day"), 48 * 980e9);
  EXPECT_DOUBLE_EQ(value("checkpoint", {{"params", "1B"}, {"bytes-per-param", "2"}}, "size"), 2e9);
  EXPECT_FALSE(has(*ask("checkpoint"), "bandwidth_needed"));  // nothing was asked
  // The servers' own write time is known less well than the bytes.
  const auto answer = ask("checkpoint", given);
  EXPECT_GT(figure(*answer, "write_time").high / figure(*answer, "write_time").value, 1.05);
  EXPECT_LT(figure(*answer, "size").high / figure(*answer, "size").value, 1.01);
}

// 6 N D FLOPs over what the accelerators really do: 8.4e23 / (1016 x peak x 0.4 x 0.95).
TEST(Calc, TrainTimeIsFlopsOverWhatIsDelivered) {
  const double peak = parts().accelerator("h100-sxm")->peak(catalog::Dtype::bf16)->base();
  const CalcTexts given{{"params", "70B"}, {"tokens", "2T"}, {"gpus", "1016"}};
  const double seconds = 6 * 70e9 * 2e12 / (1016 * peak * 0.4 * 0.95);
  EXPECT_NEAR(value("train-time", given, "time"), seconds, 1e-6 * seconds);
  EXPECT_NEAR(value("train-time", given, "accelerator_hours"), 1016 * seconds / 3600, 1e-3);
  EXPECT_NEAR(value("train-time", given, "flops_per_token_tflop"), 0.42, 1e-12);
  // A model's shape adds attention to 6 N: more, and more with longer sequences.
  const double shaped = value("train-time", {{"sequence", "4096"}}, "flops_per_token_tflop");
  const double longer = value("train-time", {{"sequence", "8192"}}, "flops_per_token_tflop");
  EXPECT_GT(longer, shaped);
  // Causal attention forward and backward: 6 x layers x sequence x hidden a token.
  EXPECT_NEAR(longer - shaped, 6.0 * 80 * 4096 * 8192 / 1e12, 1e-6);
}

// 2 x layers x KV heads x 128 x bytes; DeepSeek's latent is 512 + 64 wide for all heads together.
TEST(Calc, KvCacheByHeadsAndByLatent) {
  EXPECT_DOUBLE_EQ(value("kv-cache", {}, "per_token"), 2.0 * 80 * 8 * 128 * 2);
  EXPECT_DOUBLE_EQ(value("kv-cache", {{"dtype", "fp8"}}, "per_token"), 2.0 * 80 * 8 * 128);
  const CalcTexts many{{"context", "1000"}, {"requests", "7"}};
  EXPECT_DOUBLE_EQ(value("kv-cache", many, "per_request"), 327680e3);
  EXPECT_DOUBLE_EQ(value("kv-cache", many, "all"), 7 * 327680e3);
  EXPECT_DOUBLE_EQ(value("kv-cache", {}, "gqa_saving"), 8);
  const auto latent = ask("kv-cache", {{"model", "deepseek-v3"}});
  ASSERT_TRUE(latent.has_value());
  EXPECT_DOUBLE_EQ(figure(*latent, "per_token").value, 61.0 * (512 + 64) * 2);
  EXPECT_FALSE(has(*latent, "gqa_saving"));
}

// M 3 h, C 30 s, R 10 min, tau 1 h: 3600 / (10800 e^(1/18) (e^(3630/10800) - 1)) = 0.78930.
TEST(Calc, GoodputByTheExactFormula) {
  const CalcTexts given{
      {"mtbf", "3 h"}, {"stall", "30 s"}, {"restart", "10 min"}, {"every", "1 h"}};
  const auto answer = ask("goodput", given);
  ASSERT_TRUE(answer.has_value());
  EXPECT_NEAR(figure(*answer, "goodput").value, 0.789297, 1e-6);
  EXPECT_NEAR(figure(*answer, "young").value, 804.984, 1e-3);
  EXPECT_NEAR(figure(*answer, "daly").value, 785.109, 1e-3);
  EXPECT_NEAR(figure(*answer, "optimum").value, 785.110, 1e-3);
  const auto at = [&](const char* id) { return figure(*answer, id).value; };
  EXPECT_NEAR(at("goodput") + at("saving") + at("lost_work") + at("restarting"), 1, 1e-9);
  // A save of 30 s for every hour of work.
  EXPECT_NEAR(at("saving") / at("goodput"), 30.0 / 3600, 2e-3);
  // The optimum is no worse than an interval on either side of it.
  const double best = value("goodput", {}, "goodput");
  EXPECT_GE(best, value("goodput", {{"every", "12 min"}}, "goodput"));
  EXPECT_GE(best, value("goodput", {{"every", "15 min"}}, "goodput"));
}

// 1,000 nodes that fail every 100 days and are two days in repair: 20 at once; P(Poisson(20) > 30)
// is 1.35 %, of more than 31 0.81 %.
TEST(Calc, SparesCoverAPoissonNumberInRepair) {
  const CalcTexts given{{"nodes", "1000"}, {"node-mtbf", "100 d"}, {"repair", "2 d"}};
  CalcTexts one = given;
  one["shortfall"] = "0.01";
  EXPECT_NEAR(value("spares", one, "in_repair"), 20, 1e-9);
  EXPECT_EQ(value("spares", one, "spares"), 31);
  one["shortfall"] = "0.0135";
  EXPECT_EQ(value("spares", one, "spares"), 30);
  one["shortfall"] = "0.005";
  EXPECT_EQ(value("spares", one, "spares"), 32);
}

// Idle 1.9, peak 8.4, nameplate 10.2 kW; communication lies 57 % of the way up.
TEST(Calc, PowerIsIdlePlusPhases) {
  const CalcTexts given{{"count", "10"}, {"matrix", "0.5"}, {"communication", "0.2"}};
  const double mean = 10 * (1900 + 6500 * (0.5 + 0.2 * 0.57));
  EXPECT_NEAR(value("power", given, "mean"), mean, 1);
  EXPECT_NEAR(value("power", given, "nameplate"), 102e3, 1);
  EXPECT_NEAR(value("power", given, "site"), 1.25 * mean, 1);
  // 10.2 kW twice within 30 kW of contained air, not three times.
  EXPECT_EQ(value("power", {{"cooling", "air-contained"}}, "nodes_per_rack"), 2);
}

// 10 % over five years with a tenth left: (1 - 0.1 / 1.1^5) 0.1 / (1 - 1.1^-5) = 0.2474177.
TEST(Calc, OwnershipIsAnAnnuityAndRunningCosts) {
  const catalog::Node& node = *parts().node("dgx-h100");
  const double servers = 10 * node.price->middle().base();
  const auto row = [](std::string_view id) { return parts().tco(id)->typical; };
  const CalcTexts given{{"count", "10"},
                        {"pue", "1.5"},
                        {"power-price", "0.1 USD/kWh"},
                        {"goodput", "0.8"},
                        {"utilisation", "0.5"}};
  const auto answer = ask("tco", given);
  ASSERT_TRUE(answer.has_value());
  const auto at = [&](const char* id) { return figure(*answer, id).value; };
  constexpr double kAnnuity = 0.2474177327;
  EXPECT_NEAR(at("servers"), servers * kAnnuity, servers * 1e-6);
  EXPECT_NEAR(at("network"), servers * row("network-capex-adder") * kAnnuity, servers * 1e-6);
  EXPECT_NEAR(at("storage"), servers * row("storage-capex-adder") * kAnnuity, servers * 1e-6);
  // 10 x 7.8 kW as measured in training, times PUE and the price, over 8,760 hours.
  EXPECT_NEAR(at("electricity"), 78 * 1.5 * 8760 * 0.1, 150);
  // Colocation bills what was contracted, the nameplate: 102 kW x 12 months.
  EXPECT_NEAR(at("colocation"), 102 * 12 * row("colocation"), 1500);
  EXPECT_NEAR(at("staff"), 80.0 / 1000 * row("staff") * 200e3, 1);
  const double capex = servers * (1 + row("network-capex-adder") + row("storage-capex-adder"));
  EXPECT_NEAR(at("repair"), capex * row("server-failure-repair-opex"), 1);
  const double annual = at("servers") + at("network") + at("storage") + at("electricity") +
                        at("colocation") + at("staff") + at("repair");
  EXPECT_NEAR(at("useful_hour"), annual / (80 * 8760 * 0.8 * 0.5), 0.01 * at("useful_hour"));
}

// Eight accelerators of one node need no NIC, so its network does not matter to them; more do.
TEST(Calc, CollectiveKnowsWhereTheNodeEnds) {
  const auto bus = [](const CalcTexts& given) {
    return value("collective", given, "bus_bandwidth");
  };
  const auto time = [](const CalcTexts& given) { return value("collective", given, "time"); };
  EXPECT_DOUBLE_EQ(time({{"ranks", "8"}}), time({{"ranks", "8"}, {"roce", "true"}}));
  const CalcTexts exchange{{"kind", "all_to_all"}, {"ranks", "64"}};
  CalcTexts hashed = exchange;
  hashed["roce"] = "true";
  EXPECT_LT(time(exchange), time(hashed));
  // 2 (n - 1)/n bytes for an all-reduce, (n - 1)/n for half of it, as nccl-tests counts them.
  for (const auto& [kind, factor] : {std::pair{"all_reduce", 2 * 63.0 / 64},
                                     {"all_gather", 63.0 / 64},
                                     {"reduce_scatter", 63.0 / 64}}) {
    const CalcTexts given{{"kind", kind}, {"size", "1 GiB"}, {"ranks", "64"}};
    EXPECT_NEAR(bus(given) * time(given), factor * 1073741824, 1e-6 * 1073741824) << kind;
  }
  // The slower the time may be, the lower the rate that follows from it.
  const auto answer = ask("collective");
  const Estimate& t = figure(*answer, "time");
  const Estimate& rate = figure(*answer, "bus_bandwidth");
  EXPECT_LT(t.low, t.high);
  EXPECT_NEAR(rate.low * t.high, rate.value * t.value, 1e-6 * rate.value * t.value);
  EXPECT_NEAR(rate.high * t.low, rate.value * t.value, 1e-6 * rate.value * t.value);
  // Eight NICs of 50 GB/s are the most that leaves a node, whatever the algorithm.
  const double payload = value("collective", {{"ranks", "64"}}, "nic_rate");
  EXPECT_LT(payload, 50e9);
  EXPECT_GT(payload, 30e9);
  EXPECT_EQ(code_of("collective", {{"node", "hpe-dl380-gen11"}}), "usage.part");
}

// 1 PB with 8 + 2 filled to 80 % is 1.5625 PB raw; drives give 80 % of their rate.
TEST(Calc, TierIsBoughtForWhatBindsIt) {
  const catalog::StorageDevice& disk = *parts().storage_device("hdd-cmr24");
  const CalcTexts given{{"capacity", "1 PB"}, {"read", "20 GB/s"}, {"write", "10 GB/s"}};
  const auto answer = ask("tier", given);
  ASSERT_TRUE(answer.has_value());
  // By capacity 65.1 drives of 24 TB, by write 54.8, by read 20 / (0.285 x 0.8) = 87.7: 88.
  const double middle = (disk.price_per_tb.low.base() + disk.price_per_tb.high.base()) / 2;
  EXPECT_NEAR(figure(*answer, "usd_per_tb_hdd-cmr24").value, 88 * 24 * middle * 1.3 / 1000, 1e-6);
  const double watts = 88 * disk.active_power.base() * 1.5 / 1000;
  EXPECT_NEAR(figure(*answer, "watts_per_tb_hdd-cmr24").value, watts, 1e-6);
  // Five years' months of 2,628,000 s; dead drives are bought again, without a new chassis.
  const double months = 5 * 365.25 * 86400 / 2628000;
  const double capital = 88 * 24 * middle * 1.3 / 1000 / months;
  const double again = capital * (5 * *disk.annual_failure_rate) / 1.3;
  const double energy = watts * 1.3 * 0.08 / 1000 * 2628000 / 3600;
  EXPECT_NEAR(figure(*answer, "hold_hdd-cmr24").value, capital + again + energy, 2e-3);
  // At the tariff that is called a tie they tie.
  const double tie = figure(*answer, "tie_tariff").value;  // USD a MWh
  const CalcTexts at_tie{{"power-price", std::to_string(tie / 1000) + " USD/kWh"}};
  const auto again_asked = ask("tier", at_tie);
  EXPECT_NEAR(
      figure(*again_asked, "hold_hdd-cmr24").value / figure(*again_asked, "hold_qlc-122").value, 1,
      1e-4);
}

// 405.9e9 x 14 B = 5.68 TB a save; three kept and one in flight beside 100 TB of data.
TEST(Calc, TierSizeKeepsOneSaveMoreThanAsked) {
  const CalcTexts given{{"keep", "3"}, {"data-set", "100 TB"}};
  const double save = value("tier-size", given, "save");
  EXPECT_NEAR(save, 5.68e12, 0.01e12);
  const catalog::StorageDevice& drive = *parts().storage_device("tlc-gen5");
  const double usable = drive.capacity.base() * 0.8 * 0.8;
  const double wanted = (100e12 + 4 * save) / usable;
  EXPECT_EQ(value("tier-size", given, "devices"), std::ceil(wanted));
  EXPECT_NEAR(value("tier-size", given, "usable"), std::ceil(wanted) * usable, 1);
  // Two servers hold the drives; 94.7 GB/s with parity are 118 GB/s on the wire, of 50 a server.
  EXPECT_EQ(std::ceil(std::ceil(wanted) / 24), 2);
  EXPECT_EQ(value("tier-size", given, "servers"), 3);
  EXPECT_NEAR(value("tier-size", given, "read"), 150e9, 1);
  EXPECT_NEAR(value("tier-size", given, "power"), std::ceil(wanted) * drive.active_power.base(), 1);
  // Written in 10 s the drives' write rate binds: 568 GB/s of 8/10 x 0.8 x 9.3 GB/s each.
  const double each = 0.8 * drive.write.base() / 1.25;
  const CalcTexts fast{{"write-in", "10 s"}};
  EXPECT_EQ(value("tier-size", fast, "devices"), std::ceil(save / 10 / each));
  // One server loses 5 of 10 shards with it, ten lose one each: more nines.
  const double few = value("tier-size", given, "nines");
  EXPECT_GT(value("tier-size", {{"drives-per-server", "2"}}, "nines"), few + 2);
}

// A rebuild: ten minutes to notice, then 20 TB at a fifth of 250 MB/s by one drive or by four.
TEST(Calc, DurabilityOfACodeAndItsRebuild) {
  EXPECT_NEAR(value("durability", {}, "rebuild"), 600 + 20e12 / 50e6, 1);
  EXPECT_NEAR(value("durability", {{"drives", "4"}}, "rebuild"), 600 + 20e12 / 200e6, 1);
  EXPECT_NEAR(value("durability", {{"data", "17"}, {"parity", "3"}}, "overhead"), 20.0 / 17, 1e-9);
  // A mirrored pair: MTTDL = (3 lambda + mu) / (2 lambda^2), of drives alone.
  const double lambda = 0.05 / (365.25 * 86400);
  const double mu = 1 / (600 + 20e12 / 50e6);
  const double mttdl = (3 * lambda + mu) / (2 * lambda * lambda);
  const double loss = 365.25 * 86400 / mttdl;
  const CalcTexts pair{{"data", "1"},          {"parity", "1"},  {"failures", "0.05"},
                       {"server-losses", "0"}, {"servers", "2"}, {"object", "1 kB"}};
  const auto answer = ask("durability", pair);
  ASSERT_TRUE(answer.has_value());
  EXPECT_NEAR(figure(*answer, "nines").value, -std::log10(loss), 0.01);
  EXPECT_LT(figure(*answer, "nines").low, figure(*answer, "nines").value);
  EXPECT_GT(figure(*answer, "nines").high, figure(*answer, "nines").value);
  // Often enough to be lived through, drive by drive, and that agrees.
  ASSERT_TRUE(has(*answer, "lived_time_to_loss"));
  EXPECT_NEAR(figure(*answer, "lived_time_to_loss").value / mttdl, 1, 0.15);
}

// What is served costs what it is rented for; a rate asks for few accelerators, never for fewer
// than a smaller rate.
TEST(Calc, ServeMoneyAndRates) {
  const auto answer = ask("serve");
  ASSERT_TRUE(answer.has_value());
  const auto at = [&](const char* id) { return figure(*answer, id).value; };
  EXPECT_NEAR(at("output_tokens"), 1024 * at("requests"), 1e-6 * at("output_tokens"));
  EXPECT_NEAR(at("usd_per_mtoken"), at("rent") / (at("output_tokens") * 3600) * 1e6, 1e-6);
  // Little's law: as many are in flight as arrive in the time that one is answered.
  const double stay = at("ttft") + 1023 * at("tpot");
  EXPECT_NEAR(at("users") / (at("requests") * stay), 1, 0.05);
  EXPECT_LE(at("tpot"), 0.05);
  EXPECT_LE(at("ttft"), 2);
  EXPECT_LE(value("serve", {{"rate", "5"}}, "gpus"), value("serve", {{"rate", "50"}}, "gpus"));
  // A sixth of the prompt cached serves no fewer.
  EXPECT_GE(value("serve", {{"cached", "0.8"}}, "users"), at("users"));
}

// What was said before is on the device, in the tier or computed again, and a tier that is fast
// brings first tokens forward; one that is slower than computing is left alone.
TEST(Calc, KvTierBringsBackWhatTheDeviceLost) {
  const CalcTexts crowd = {
      {"users", "150"}, {"think", "120 s"}, {"accelerator", "h100-sxm"}, {"tp", "2"}};
  const auto answer = ask("kv-tier", crowd);
  ASSERT_TRUE(answer.has_value());
  const auto at = [&](const char* id) { return figure(*answer, id).value; };
  EXPECT_NEAR(at("on_device") + at("fetched") + at("computed"), 1, 1e-9);
  EXPECT_GT(at("fetched"), 0.2);
  EXPECT_LT(at("ttft"), at("ttft_without"));
  EXPECT_LT(at("fetch_token"), at("compute_token"));
  // 160 KiB of keys and values a token in eight bits, over two ports of 51 GB/s.
  EXPECT_NEAR(at("fetch_token"), 163840 / 102e9, 0.03 * at("fetch_token"));
  CalcTexts slow = crowd;
  slow["rate"] = "0.1 GB/s";
  EXPECT_EQ(value("kv-tier", slow, "fetched"), 0);
  CalcTexts small = crowd;
  small["room"] = "5 GB";
  EXPECT_LT(value("kv-tier", small, "fetched"), at("fetched"));
}

// Weights 2 B, gradients 4 B a parameter; Adam's 12 B are shared by the replicas under zero1.
TEST(Calc, MemoryOfTrainingByItsParts) {
  const double n = 8.03e9;
  const CalcTexts given{{"gpus", "8"}, {"sequence", "2048"}};
  EXPECT_NEAR(value("memory", given, "weights"), 2 * n, 0.02 * n);
  EXPECT_NEAR(value("memory", given, "gradients"), 4 * n, 0.04 * n);
  EXPECT_NEAR(value("memory", given, "optimizer"), 12 * n / 8, 0.02 * n);
  CalcTexts split = given;
  split["tp"] = "2";
  EXPECT_NEAR(value("memory", split, "weights"), n, 0.02 * n);
  const auto whole = ask("memory", given);
  ASSERT_TRUE(whole.has_value());
  double sum = 0;
  for (const char* id :
       {"weights", "gradients", "optimizer", "activations", "logits", "workspace"}) {
    sum += figure(*whole, id).value;
  }
  EXPECT_NEAR(figure(*whole, "peak").value, sum, 0.03 * sum);
}

TEST(Calc, RefusesWhatItCannotRead) {
  EXPECT_EQ(code_of("checkpoint", {{"parms", "70B"}}), "calc.parameter");
  EXPECT_EQ(code_of("checkpoint", {{"model", "llama-9"}}), "usage.part");
  EXPECT_EQ(code_of("checkpoint", {{"write", "40"}}), "usage.value");
  EXPECT_EQ(code_of("checkpoint", {{"write", "0 GB/s"}}), "usage.value");
  EXPECT_EQ(code_of("checkpoint", {{"params", "0"}}), "usage.value");
  EXPECT_EQ(code_of("memory", {{"gpus", "1.5"}}), "usage.value");
  EXPECT_EQ(code_of("train-time", {{"gpus", "10000000"}}), "");
  EXPECT_EQ(code_of("train-time", {{"gpus", "10000001"}}), "usage.value");
  EXPECT_EQ(code_of("power", {{"matrix", "1"}, {"communication", "0"}}), "");
  EXPECT_EQ(code_of("power", {{"matrix", "1.01"}}), "usage.value");
  EXPECT_EQ(code_of("power", {{"matrix", "-0.01"}}), "usage.value");
  EXPECT_EQ(code_of("kv-cache", {{"dtype", "fp2"}}), "usage.value");
  EXPECT_EQ(code_of("collective", {{"roce", "yes"}}), "usage.value");
  EXPECT_EQ(code_of("collective", {{"roce", "false"}}), "");
  EXPECT_EQ(code_of("tier", {{"device", "floppy"}}), "calc.device");
  EXPECT_EQ(code_of("tier", {{"against", "floppy"}}), "calc.device");
  EXPECT_EQ(code_of("tier-size", {{"device", "floppy"}}), "calc.device");
  EXPECT_EQ(code_of("memory", {{"gpus", "8"}, {"tp", "3"}}), "calc.layout");
  const CalcTexts huge{{"gpus", "10000000"}, {"mbs", "10000000"}};  // 1e14 sequences a step
  EXPECT_EQ(code_of("memory", huge), "calc.layout");
  EXPECT_EQ(code_of("serve", {{"ttft", "1 ms"}}), "calc.serve");
  EXPECT_EQ(code_of("durability", {{"data", "250"}, {"parity", "5"}}), "");
  EXPECT_EQ(code_of("durability", {{"data", "250"}, {"parity", "6"}}), "calc.durability");
  EXPECT_EQ(code_of("durability", {{"failures", "0"}}), "calc.durability");
  EXPECT_EQ(code_of("durability", {{"share", "0"}}), "calc.durability");
}

// A node that the catalog knows no power or price of (rented instances) has no answer to give.
TEST(Calc, SaysSoWhereTheCatalogKnowsNothing) {
  const auto without = [](auto lacks) -> std::string {
    for (const catalog::Node& n : parts().nodes) {
      if (lacks(n)) return n.id;
    }
    return {};
  };
  const std::string powerless = without([](const catalog::Node& n) { return !n.max_power; });
  if (!powerless.empty()) {
    EXPECT_EQ(code_of("power", {{"node", powerless}}), "calc.power");
  }
  const std::string priceless = without([](const catalog::Node& n) { return !n.price; });
  if (!priceless.empty()) {
    EXPECT_EQ(code_of("tco", {{"node", priceless}}), "calc.tco");
  }
  const std::string hostly =
      without([](const catalog::Node& n) { return n.accelerator_id.empty(); });
  if (!hostly.empty()) {
    EXPECT_EQ(code_of("collective", {{"node", hostly}}), "calc.collective");
  }
  const std::string alone = without([](const catalog::Node& n) {
    return !n.accelerator_id.empty() && n.compute_nics == 0 && n.accelerators < 64;
  });
  if (!alone.empty()) {
    EXPECT_EQ(code_of("collective", {{"node", alone}}), "calc.collective");
  }
}

TEST(Calc, CommandLineThatAsksTheSame) {
  const Calculator& c = *find_calculator("checkpoint");
  EXPECT_EQ(command_of(c, {}), "orrery calc checkpoint");
  EXPECT_EQ(command_of(c, {{"params", "70B"}, {"write", "40 GB/s"}}),
            "orrery calc checkpoint --params 70B");  // a preset is left out
  EXPECT_EQ(command_of(c, {{"write", "41 GB/s"}}), "orrery calc checkpoint --write \"41 GB/s\"");
  EXPECT_EQ(command_of(*find_calculator("collective"), {{"roce", "true"}}),
            "orrery calc collective --roce");
}

}  // namespace
}  // namespace orrery::calc
