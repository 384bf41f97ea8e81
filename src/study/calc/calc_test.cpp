#include "study/calc/calc.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "layers/cost/rental.h"
#include "model/machine/known_fixture.h"
#include "study/calc/answer_fixture.h"
#include "study/calc/calculators.h"

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
  for (const figures::Number& f : c.figures) {
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
  for (const figures::Number& f : c.figures) {
    if (f.id == id) return true;
  }
  return false;
}

// 70e9 x 14 B = 980 GB; at 40 GB/s 24.5 s; within 30 s 32.67 GB/s; every half hour 48 x 980 GB.
TEST(Calc, checkpoint_size_is_parameters_times_bytes) {
  const CalcTexts given{{"params", "70B"}, {"every", "30 min"}, {"stall", "30 s"}};
  EXPECT_DOUBLE_EQ(value("checkpoint", given, "size"), 980e9);
  EXPECT_DOUBLE_EQ(value("checkpoint", given, "write_time"), 24.5);
  EXPECT_NEAR(value("checkpoint", given, "bandwidth_needed"), 980e9 / 30, 1);
  EXPECT_DOUBLE_EQ(value("checkpoint", given, "written_per_day"), 48 * 980e9);
  EXPECT_DOUBLE_EQ(value("checkpoint", {{"params", "1B"}, {"bytes-per-param", "2"}}, "size"), 2e9);
  EXPECT_FALSE(has(*ask("checkpoint"), "bandwidth_needed"));  // it was not asked for
  // The servers' own write time is less exact than the bytes.
  const auto answer = ask("checkpoint", given);
  EXPECT_GT(figure(*answer, "write_time").high / figure(*answer, "write_time").value, 1.05);
  EXPECT_LT(figure(*answer, "size").high / figure(*answer, "size").value, 1.01);
}

// 6 N D FLOPs over what the accelerators really deliver: 8.4e23 / (1016 x peak x 0.4 x 0.95).
TEST(Calc, training_time_is_flops_over_delivered_flops) {
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
  // Causal attention forward and backward: 6 x layers x sequence x hidden per token.
  EXPECT_NEAR(longer - shaped, 6.0 * 80 * 4096 * 8192 / 1e12, 1e-6);
}

// 2 x layers x KV heads x 128 x bytes; DeepSeek's latent is 512 + 64 wide for all heads together.
TEST(Calc, kv_cache_of_heads_and_of_latents) {
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
TEST(Calc, goodput_follows_the_exact_formula) {
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
TEST(Calc, spares_cover_a_poisson_number_in_repair) {
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

// Idle 1.9, peak 8.4, nameplate 10.2 kW; communication is 57 % of the way up.
TEST(Calc, power_is_idle_plus_phases) {
  const CalcTexts given{{"count", "10"}, {"matrix", "0.5"}, {"communication", "0.2"}};
  const double mean = 10 * (1900 + 6500 * (0.5 + 0.2 * 0.57));
  EXPECT_NEAR(value("power", given, "mean"), mean, 1);
  EXPECT_NEAR(value("power", given, "nameplate"), 102e3, 1);
  EXPECT_NEAR(value("power", given, "site"), 1.25 * mean, 1);
  // 10.2 kW twice within 30 kW of contained air, not three times.
  EXPECT_EQ(value("power", {{"cooling", "air-contained"}}, "nodes_per_rack"), 2);
  EXPECT_NE(ask("power", given)->answer.find("73.6 kW"), std::string::npos);
}

// 10 % over five years with a tenth left: (1 - 0.1 / 1.1^5) 0.1 / (1 - 1.1^-5) = 0.2474177.
TEST(Calc, ownership_is_annuity_plus_running_costs) {
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
  // Colocation bills the contracted power, the nameplate: 102 kW x 12 months.
  EXPECT_NEAR(at("colocation"), 102 * 12 * row("colocation"), 1500);
  EXPECT_NEAR(at("staff"), 80.0 / 1000 * row("staff") * 200e3, 1);
  const double capex = servers * (1 + row("network-capex-adder") + row("storage-capex-adder"));
  EXPECT_NEAR(at("repair"), capex * row("server-failure-repair-opex"), 1);
  const double annual = at("servers") + at("network") + at("storage") + at("electricity") +
                        at("colocation") + at("staff") + at("repair");
  EXPECT_NEAR(at("useful_hour"), annual / (80 * 8760 * 0.8 * 0.5), 0.01 * at("useful_hour"));
}

// Without a measurement a node draws 76 % of its nameplate in training.
TEST(Calc, ownership_of_a_node_with_unknown_power) {
  for (const catalog::Node& node : parts().nodes) {
    if (!node.price || !node.max_power || node.typical_train_power) continue;
    const CalcTexts given{{"node", node.id}, {"pue", "1"}, {"power-price", "0.1 USD/kWh"}};
    const double kwh = node.max_power->base() / 1000 * 0.76 * 8766;
    EXPECT_NEAR(value("tco", given, "electricity"), kwh * 0.1, 0.002 * kwh * 0.1) << node.id;
  }
}

// Eight accelerators of one node need no NIC, so its network does not matter to them; more do.
TEST(Calc, collectives_cross_node_boundaries) {
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
  // 72 NICs of a rack on 18 hosts.
  const auto rack = ask("collective", {{"node", "gb200-nvl72"}, {"ranks", "144"}});
  ASSERT_TRUE(rack.has_value());
  EXPECT_NE(rack->assumptions.front().find(", 4 NICs per host at"), std::string::npos);
}

// 1 PB with 8 + 2 filled to 80 % is 1.5625 PB raw; drives give 80 % of their rate.
TEST(Calc, a_tier_is_sized_by_its_limit) {
  const catalog::StorageDevice& disk = *parts().storage_device("hdd-cmr24");
  const CalcTexts given{{"capacity", "1 PB"}, {"read", "20 GB/s"}, {"write", "10 GB/s"}};
  const auto answer = ask("tier", given);
  ASSERT_TRUE(answer.has_value());
  // By capacity 65.1 drives of 24 TB, by write 54.8, by read 20 / (0.285 x 0.8) = 87.7: 88.
  const double middle = (disk.price_per_tb.low.base() + disk.price_per_tb.high.base()) / 2;
  EXPECT_NEAR(figure(*answer, "usd_per_tb_hdd-cmr24").value, 88 * 24 * middle * 1.3 / 1000, 1e-6);
  const double watts = 88 * disk.active_power.base() * 1.5 / 1000;
  EXPECT_NEAR(figure(*answer, "watts_per_tb_hdd-cmr24").value, watts, 1e-6);
  // The months of five years, 2,628,000 s each; dead drives are bought again, without a new
  // chassis.
  const double months = 5 * 365.25 * 86400 / 2628000;
  const double capital = 88 * 24 * middle * 1.3 / 1000 / months;
  const double again = capital * (5 * *disk.annual_failure_rate) / 1.3;
  const double energy = watts * 1.3 * 0.08 / 1000 * 2628000 / 3600;
  EXPECT_NEAR(figure(*answer, "hold_hdd-cmr24").value, capital + again + energy, 2e-3);
  // At the tariff called a tie, both cost the same.
  const double tie = figure(*answer, "tie_tariff").value;  // USD a MWh
  const CalcTexts at_tie{{"power-price", std::to_string(tie / 1000) + " USD/kWh"}};
  const auto again_asked = ask("tier", at_tie);
  EXPECT_NEAR(
      figure(*again_asked, "hold_hdd-cmr24").value / figure(*again_asked, "hold_qlc-122").value, 1,
      1e-4);
}

// Moving a byte takes 500 nJ; it pays after that over what holding it there saves.
TEST(Calc, a_cheaper_tier_breaks_even_with_the_move) {
  for (const bool swapped : {false, true}) {
    CalcTexts given{{"pue", "2"}, {"power-price", "0.1 USD/kWh"}};
    given["device"] = swapped ? "qlc-122" : "hdd-cmr24";
    given["against"] = swapped ? "hdd-cmr24" : "qlc-122";
    const auto answer = ask("tier", given);
    ASSERT_TRUE(answer.has_value());
    const double disk = figure(*answer, "hold_hdd-cmr24").value;  // USD a TB and month
    const double flash = figure(*answer, "hold_qlc-122").value;
    const double move = 500e-9 * 0.1 / 3.6e6;
    const double age = move / (std::abs(disk - flash) / 1e12 / 2628000);
    EXPECT_NEAR(figure(*answer, "break_even_age").value, age, 0.02 * age);
    const std::string cheaper = disk < flash ? "hdd-cmr24" : "qlc-122";
    EXPECT_EQ(answer->answer.find(cheaper + " is cheaper to hold"), 0u);
  }
  // Each unit of PUE is once more the drives' own energy.
  const double watts = value("tier", {}, "watts_per_tb_hdd-cmr24");
  EXPECT_NEAR(value("tier", {{"pue", "2"}}, "hold_hdd-cmr24") -
                  value("tier", {{"pue", "1"}}, "hold_hdd-cmr24"),
              watts * 0.08 / 1000 * 730, 1e-3);
  const auto unknown = ask("tier", {{"against", "floppy"}});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().front().what.find("`floppy`"), std::string::npos);
}

// 405.9e9 x 14 B = 5.68 TB per save; three kept and one in flight, in addition to 100 TB of data.
TEST(Calc, tier_size_has_room_for_one_more_checkpoint) {
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
  // Written in 10 s, the drives' write rate is the limit: 568 GB/s of 8/10 x 0.8 x 9.3 GB/s each.
  const double each = 0.8 * drive.write.base() / 1.25;
  const CalcTexts fast{{"write-in", "10 s"}};
  EXPECT_EQ(value("tier-size", fast, "devices"), std::ceil(save / 10 / each));
  // One server loses 5 of 10 shards with it, ten servers lose one each: more nines.
  const double few = value("tier-size", given, "nines");
  EXPECT_GT(value("tier-size", {{"drives-per-server", "2"}}, "nines"), few + 2);
  EXPECT_NEAR(value("tier-size", {{"bytes-per-param", "2"}}, "save"), save / 7, 1);
}

// An appliance delivers what its data sheet says.
TEST(Calc, an_appliance_is_sized_in_whole_units) {
  int tried = 0;
  for (const catalog::StorageDevice& d : parts().storage_devices) {
    if (storage::form_of(d) != storage::DeviceForm::appliance || d.read.base() <= 0) continue;
    ++tried;
    const auto answer = ask("tier-size", {{"device", d.id}});
    ASSERT_TRUE(answer.has_value()) << d.id;
    const double boxes = figure(*answer, "devices").value;
    EXPECT_NEAR(figure(*answer, "read").value, boxes * d.read.base(), 1e-6 * boxes * d.read.base())
        << d.id;
  }
  EXPECT_GT(tried, 0);
}

// Ten shards: on five servers two each, as many as may be lost; on four three.
TEST(Calc, tier_size_warns_of_too_few_servers) {
  int fives = 0;
  for (const char* each : {"2", "3", "4", "5", "6"}) {
    const auto answer = ask("tier-size", {{"drives-per-server", each}});
    ASSERT_TRUE(answer.has_value());
    std::string words;
    for (const std::string& a : answer->assumptions) words += a;
    const double servers = figure(*answer, "servers").value;
    fives += servers == 5 ? 1 : 0;
    EXPECT_EQ(words.find("may be lost") != std::string::npos, std::ceil(10 / servers) > 2)
        << servers;
  }
  EXPECT_GT(fives, 0);
}

TEST(Calc, an_empty_text_is_the_default) {
  EXPECT_DOUBLE_EQ(value("checkpoint", {{"params", "70B"}, {"write", ""}}, "write_time"), 24.5);
  EXPECT_EQ(code_of("checkpoint", {{"params", "1e308"}}), "calc.range");
}

// A rebuild: ten minutes to notice, then 20 TB at a fifth of 250 MB/s by one drive or by four.
TEST(Calc, durability_of_a_code_and_its_rebuild) {
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
  // Losses are frequent enough to be simulated drive by drive, and the result agrees.
  ASSERT_TRUE(has(*answer, "lived_time_to_loss"));
  EXPECT_NEAR(figure(*answer, "lived_time_to_loss").value / mttdl, 1, 0.15);
}

// The interval: failures by 2.5 and rebuilds by 2 either way.
TEST(Calc, durability_interval_spans_failure_rates) {
  const CalcTexts pair{{"data", "1"},          {"parity", "1"},  {"failures", "0.01"},
                       {"server-losses", "0"}, {"servers", "2"}, {"object", "1 kB"}};
  const auto answer = ask("durability", pair);
  ASSERT_TRUE(answer.has_value());
  const auto nines = [](double failures, double rebuild) {
    const double lambda = 0.01 * failures / (365.25 * 86400);
    const double mu = 1 / ((600 + 20e12 / 50e6) * rebuild);
    return -std::log10(365.25 * 86400 * 2 * lambda * lambda / (3 * lambda + mu));
  };
  EXPECT_NEAR(figure(*answer, "nines").value, nines(1, 1), 0.01);
  EXPECT_NEAR(figure(*answer, "nines").low, nines(2.5, 2), 0.01);
  EXPECT_NEAR(figure(*answer, "nines").high, nines(0.4, 0.5), 0.01);
  const Estimate& rebuild = figure(*answer, "rebuild");
  EXPECT_NEAR(rebuild.high / rebuild.value, 2, 1e-9);
  EXPECT_NEAR(rebuild.low / rebuild.value, 0.5, 1e-9);
  EXPECT_NE(answer->question.find("2 copies"), std::string::npos);
  EXPECT_FALSE(has(*ask("durability", {{"failures", "0.001"}}), "lived_time_to_loss"));
  // Both copies on one server, of which one in a thousand is lost per year: three nines.
  CalcTexts one = pair;
  one["servers"] = "1";
  one["server-losses"] = "0.001";
  EXPECT_NEAR(value("durability", one, "nines"), 3, 0.1);
}

// Serving costs what its accelerators rent for; a rate needs few accelerators, never fewer than a
// smaller rate.
TEST(Calc, serving_costs_and_rates) {
  const auto answer = ask("serve");
  ASSERT_TRUE(answer.has_value());
  const auto at = [&](const char* id) { return figure(*answer, id).value; };
  EXPECT_NEAR(at("output_tokens"), 1024 * at("requests"), 1e-6 * at("output_tokens"));
  EXPECT_NEAR(at("usd_per_mtoken"), at("rent") / (at("output_tokens") * 3600) * 1e6, 1e-6);
  // Little's law: as many are in flight as arrive in the time of one answer.
  const double stay = at("ttft") + 1023 * at("tpot");
  EXPECT_NEAR(at("users") / (at("requests") * stay), 1, 0.05);
  EXPECT_LE(at("tpot"), 0.05);
  EXPECT_LE(at("ttft"), 2);
  EXPECT_LE(value("serve", {{"rate", "5"}}, "gpus"), value("serve", {{"rate", "50"}}, "gpus"));
  // A sixth of the prompt cached serves no fewer.
  EXPECT_GE(value("serve", {{"cached", "0.8"}}, "users"), at("users"));
  EXPECT_GT(value("serve", {{"cached", "0.8"}}, "requests"), at("requests"));
}

TEST(Calc, serving_by_rate_and_roles) {
  const auto market = cost::market_price(parts().cloud_prices, "h100-sxm", "", false);
  ASSERT_TRUE(market);
  const auto rated = ask("serve", {{"rate", "5"}});
  ASSERT_TRUE(rated.has_value());
  const double gpus = figure(*rated, "gpus").value;
  const double rent = gpus * market->median.base() * 3600;
  EXPECT_NEAR(figure(*rated, "rent").value, rent, 1e-6 * rent);
  // Five requests of 1,024 tokens per second are paid for, not what could be served.
  const double mtoken = rent / (5 * 1024 * 3600) * 1e6;
  EXPECT_NEAR(figure(*rated, "usd_per_mtoken").value, mtoken, 1e-6 * mtoken);
  const Estimate& ttft = figure(*rated, "ttft");
  const Estimate& tpot = figure(*rated, "tpot");
  EXPECT_NEAR(ttft.high / ttft.value - 1, 2 * (tpot.high / tpot.value - 1), 1e-6);
  ASSERT_TRUE(has(*rated, "choice_4"));
  EXPECT_FALSE(has(*rated, "choice_5"));
  for (const char* id : {"choice_2", "choice_3", "choice_4"}) {
    EXPECT_GE(figure(*rated, id).value, gpus);
    EXPECT_EQ(figure(*rated, id).value, std::floor(figure(*rated, id).value));
  }
  const auto layout = [](const char* roles) {
    const auto answer = ask("serve", {{"roles", roles}, {"engine", "vllm"}, {"dtype", "fp8"}});
    return answer ? answer->answer.substr(answer->answer.find(": ") + 2) : std::string();
  };
  EXPECT_EQ(layout("joined").find("prefill"), std::string::npos);
  int tp = 0, prefill = 0, decode = 0;
  ASSERT_EQ(
      std::sscanf(layout("apart").c_str(), "vllm in fp8, tp %d, %d prefill and %d decode replicas",
                  &tp, &prefill, &decode),
      3);
  EXPECT_EQ(tp * (prefill + decode), 8);
}

// The history is on the device, in the tier or computed again. A fast tier shortens first tokens; a
// tier slower than computing is not used.
TEST(Calc, a_kv_tier_restores_evicted_blocks) {
  const CalcTexts crowd = {
      {"users", "150"}, {"think", "120 s"}, {"accelerator", "h100-sxm"}, {"tp", "2"}};
  const auto answer = ask("kv-tier", crowd);
  ASSERT_TRUE(answer.has_value());
  const auto at = [&](const char* id) { return figure(*answer, id).value; };
  EXPECT_NEAR(at("on_device") + at("fetched") + at("computed"), 1, 1e-9);
  EXPECT_GT(at("fetched"), 0.2);
  EXPECT_LT(at("ttft"), at("ttft_without"));
  EXPECT_LT(at("fetch_token"), at("compute_token"));
  // 160 KiB of KV cache per token in eight bits, over two ports of 51 GB/s.
  EXPECT_NEAR(at("fetch_token"), 163840 / 102e9, 0.03 * at("fetch_token"));
  CalcTexts slow = crowd;
  slow["rate"] = "0.1 GB/s";
  EXPECT_EQ(value("kv-tier", slow, "fetched"), 0);
  CalcTexts small = crowd;
  small["room"] = "5 GB";
  EXPECT_LT(value("kv-tier", small, "fetched"), at("fetched"));
}

// One CXL 2.0 x16 link carries 64 GB/s, less than the two ports of the replica; four carry more.
TEST(Calc, a_pooled_kv_tier_is_limited_by_its_links) {
  CalcTexts pooled = {{"users", "40"}, {"pool", "cxl-2-x16"}};
  EXPECT_NEAR(value("kv-tier", pooled, "fetch_token"), 163840 / 64e9, 1e-9);
  pooled["pool-links"] = "4";
  const auto answer = ask("kv-tier", pooled);
  ASSERT_TRUE(answer.has_value());
  EXPECT_NEAR(figure(*answer, "fetch_token").value,
              value("kv-tier", {{"users", "40"}}, "fetch_token"), 1e-12);
  EXPECT_NE(answer->assumptions.back().find("low confidence"), std::string::npos);
  EXPECT_EQ(code_of("kv-tier", {{"pool", "ualink-200"}}), "usage.value");
  EXPECT_EQ(code_of("kv-tier", {{"pool", "cxl"}}), "usage.part");
  EXPECT_EQ(code_of("kv-tier", {{"pool", "cxl-2-x16"}, {"rate", "1 GB/s"}}), "usage.value");
}

// Weights 2 B, gradients 4 B per parameter; Adam's 12 B are sharded over the replicas under zero1.
TEST(Calc, training_memory_by_parts) {
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
  CalcTexts staged = given;
  staged["pp"] = "2";
  EXPECT_NEAR(value("memory", staged, "weights"), n, 0.1 * n);
  CalcTexts two = given;
  two["mbs"] = "2";
  EXPECT_NEAR(value("memory", two, "activations"), 2 * figure(*whole, "activations").value,
              0.05 * figure(*whole, "activations").value);
}

TEST(Calc, unreadable_values_are_refused) {
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
  EXPECT_EQ(code_of("memory", {{"gpus", "8"}, {"tp", "2"}, {"pp", "3"}}), "calc.layout");
  const CalcTexts huge{{"gpus", "10000000"}, {"mbs", "10000000"}};  // 1e14 sequences a step
  EXPECT_EQ(code_of("memory", huge), "calc.layout");
  EXPECT_EQ(code_of("serve", {{"ttft", "1 ms"}}), "calc.serve");
  EXPECT_EQ(code_of("durability", {{"data", "250"}, {"parity", "5"}}), "");
  EXPECT_EQ(code_of("durability", {{"data", "250"}, {"parity", "6"}}), "calc.durability");
  EXPECT_EQ(code_of("durability", {{"failures", "0"}}), "calc.durability");
  EXPECT_EQ(code_of("durability", {{"share", "0"}}), "calc.durability");
}

// For a node without power or price in the catalog (rented instances) there is no answer.
TEST(Calc, unknown_catalog_values_are_refused) {
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

TEST(Calc, the_command_line_reproduces_the_question) {
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
