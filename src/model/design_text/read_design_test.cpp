// Reading: the sample of the guide, eight different mistakes at once, hostile files.
#include "model/design_text/read_design.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "model/design/catalog_fixture.h"
#include "model/design/design.h"
#include "model/design/goals.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Json = nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kSample = R"(orrery: 1
name: superpod-h100-4su
site:      { region: gcp-us-east4, power: 2 MW, cooling: direct-to-chip-1p, rack: 44 kW }
fleet:
  - { name: train, node: dgx-h100, count: 127 }
fabric:
  compute: { topology: rail-fat-tree, switch: qm9700, routing: adaptive }
  storage: { topology: fat-tree, switch: qm9700 }
storage:
  - { tier: hot, kind: parallel-fs, servers: 16, read: 40 GB/s, write: 20 GB/s, capacity: 2 PB }
  - { tier: cold, kind: object, capacity: 20 PB }
scheduler: { kind: slurm, backfill: easy, topology: tree }
workloads:
  - train: { model: llama-3-70b, tokens: 2T, sequence: 8192, batch: 1024, precision: bf16, layout: auto,
             checkpoint: { every: auto, to: [node-nvme, hot, cold], keep: { hot: 3, cold: milestones } } }
  - serve: { model: llama-3-8b, arrivals: { rate: 40 /s, trace: chat }, objective: { ttft_p99: 500 ms, tpot_p99: 40 ms } }
  - jobs:  { trace: jobs.csv }
economics: { horizon: 5 y, power_price: 0.08 USD/kWh }
goals:     [ goodput >= 0.90, cost <= 12 MUSD/y ]
)";

std::string faults_of(const Result<design::Design>& r) { return r ? "" : to_text(r.error()); }

TEST(ReadDesign, reads_the_sample_of_the_guide) {
  const auto d = read_design(kSample, design::catalog(), {.file = "sample.yaml"});
  ASSERT_TRUE(d) << faults_of(d);
  EXPECT_EQ(d->name, "superpod-h100-4su");
  EXPECT_EQ(d->sites.at(0).power, megawatts(2));
  EXPECT_EQ(d->fleet.at(0).count, 127);
  EXPECT_EQ(d->fabric.compute.topology, design::NamedTopology::rail_fat_tree);
  EXPECT_EQ(d->fabric.compute.routing, catalog::RoutingKind::adaptive);
  EXPECT_EQ(d->storage.at(0).read, gbytes_per_s(40));
  const auto& train = std::get<design::Train>(d->workloads.at(0).task);
  EXPECT_EQ(train.tokens, 2e12);
  EXPECT_FALSE(train.layout);
  ASSERT_TRUE(train.checkpoint);
  EXPECT_FALSE(train.checkpoint->every);
  EXPECT_THAT(train.checkpoint->to, ElementsAre("node-nvme", "hot", "cold"));
  EXPECT_THAT(train.checkpoint->keep,
              ElementsAre(design::KeepRule{"cold", std::nullopt}, design::KeepRule{"hot", 3}));
  const auto& serve = std::get<design::Serve>(d->workloads.at(1).task);
  EXPECT_EQ(serve.arrivals.rate, PerSecond(40));
  EXPECT_EQ(serve.objective.ttft_p99, milliseconds(500));
  EXPECT_EQ(d->economics.power_price, usd_per_kwh(0.08));
  ASSERT_EQ(d->goals.size(), 2u);
  EXPECT_EQ(d->goals[1].metric, "cost");
  EXPECT_EQ(d->goals[1].comparison, design::Comparison::at_most);
  EXPECT_DOUBLE_EQ(d->goals[1].bound, (mega_usd(12) / years(1)).base());
}

TEST(ReadDesign, knows_the_place_of_every_value) {
  const auto d = read_design(kSample, design::catalog(), {.file = "sample.yaml"});
  ASSERT_TRUE(d) << faults_of(d);
  EXPECT_EQ(design::place_of(*d, "fleet[0].count"), (Place{"sample.yaml", 5, 43}));
  EXPECT_EQ(design::place_of(*d, "site.power"), (Place{"sample.yaml", 3, 43}));
  EXPECT_EQ(design::place_of(*d, "workloads[1].serve.objective.ttft_p99").line, 16);
  // A default has the place of the section around it.
  EXPECT_EQ(design::place_of(*d, "fleet[0].spares"), design::place_of(*d, "fleet[0]"));
  EXPECT_EQ(design::place_of(*d, "fabric.management.switch"), design::place_of(*d, "fabric"));
  EXPECT_TRUE(d->places.given("fleet[0].count"));
  EXPECT_FALSE(d->places.given("fleet[0].spares"));
}

// "line:column code" of every fault.
std::vector<std::string> brief_faults(const Result<design::Design>& r) {
  std::vector<std::string> out;
  if (r) return out;
  for (const Diagnostic& d : r.error()) {
    out.push_back(std::to_string(d.place.line) + ':' + std::to_string(d.place.column) + ' ' +
                  d.code);
  }
  return out;
}

// A bad unit, a bare number, an unknown key, a duplicate key, a wrong type, an unknown part, a
// negative count and a missing section.
TEST(ReadDesign, gives_eight_mistakes_eight_diagnostics) {
  const auto d = read_design(R"(orrery: 1
name: eight
site:
  region: gcp-us-east4
  power: 2 MX
  rack: 44
  coolng: air-contained
  region: usa
fabric:
  compute: [rail-fat-tree]
  storage: { topology: fat-tree, switch: qm9701 }
storage:
  - { tier: hot, kind: parallel-fs, servers: -16 }
)",
                             design::catalog(), {.file = "eight.yaml"});
  EXPECT_THAT(brief_faults(d),
              ElementsAre("1:1 design.missing",         // fleet
                          "5:10 design.unit-unknown",   // 2 MX
                          "6:9 design.unit-missing",    // 44
                          "7:3 design.unknown-key",     // coolng
                          "8:3 yaml.duplicate-key",     // region
                          "10:12 design.type",          // a list
                          "11:42 design.unknown-part",  // qm9701
                          "13:46 design.range"));       // -16
  const Diagnostics& all = d.error();
  EXPECT_THAT(all[0].what, HasSubstr("fleet"));
  EXPECT_THAT(all[2].fix, HasSubstr("44 kW"));
  EXPECT_THAT(all[3].fix, HasSubstr("`cooling`"));
  EXPECT_THAT(all[4].why, HasSubstr("line 4, column 3"));
  EXPECT_THAT(all[6].fix, HasSubstr("`qm9700`"));
  for (const Diagnostic& f : all) EXPECT_EQ(f.place.file, "eight.yaml");
}

std::string with_one_fleet(std::string_view fields) {
  return "orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, " +
         std::string(fields) + " }\n";
}

TEST(ReadDesign, takes_numbers_as_they_are_written) {
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: 0777"), design::catalog())),
              ElementsAre("5:39 design.type"));
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: 0x10"), design::catalog())),
              ElementsAre("5:39 design.type"));
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: 1_000"), design::catalog())),
              ElementsAre("5:39 design.type"));
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: 12.5"), design::catalog())),
              ElementsAre("5:39 design.type"));
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: 99999999999"), design::catalog())),
              ElementsAre("5:39 design.range"));
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: 0"), design::catalog())),
              ElementsAre("5:39 design.range"));
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: .inf"), design::catalog())),
              ElementsAre("5:39 design.type"));
  EXPECT_THAT(
      brief_faults(read_design(with_one_fleet("count: 4, power_cap: 010 W"), design::catalog())),
      ElementsAre("5:53 design.type"));
}

TEST(ReadDesign, checks_names_within_the_file) {
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: 4, site: hall"), design::catalog())),
              ElementsAre("5:48 design.unknown-name"));
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: 4") +
                                           "workloads:\n  - train: { model: llama-3-8b, "
                                           "batch: 8, fleet: b }\n",
                                       design::catalog())),
              ElementsAre("7:50 design.unknown-name"));
  EXPECT_THAT(
      brief_faults(read_design(with_one_fleet("count: 4") + "workloads:\n  - train: { batch: 8 }\n",
                               design::catalog())),
      ElementsAre("7:12 design.missing"));
  EXPECT_THAT(brief_faults(read_design(with_one_fleet("count: 4") + "workloads:\n  - trian: { }\n",
                                       design::catalog())),
              ElementsAre("7:5 design.unknown-key"));
}

TEST(ReadDesign, refuses_what_is_no_design) {
  EXPECT_THAT(brief_faults(read_design("", design::catalog())), ElementsAre("1:1 design.empty"));
  EXPECT_THAT(brief_faults(read_design("just text", design::catalog())),
              ElementsAre("1:1 design.empty"));
  EXPECT_THAT(brief_faults(read_design("a: 1\n---\nb: 2\n", design::catalog())),
              ElementsAre("2:1 yaml.documents"));
  EXPECT_THAT(brief_faults(read_design("a:\n\tb: 1\n", design::catalog())),
              ElementsAre("2:1 yaml.tab"));
  EXPECT_THAT(brief_faults(read_design("a: !!python/object:x {}\n", design::catalog())),
              ElementsAre("1:4 yaml.tag"));
  EXPECT_THAT(brief_faults(read_design("a: [1, 2\nb: 3\n", design::catalog())).size(), 1u);
  EXPECT_THAT(brief_faults(read_design("a: b\x01\n", design::catalog())),
              ElementsAre("1:5 file.control-character"));
  EXPECT_THAT(brief_faults(read_design("orrery: 2\n" + with_one_fleet("count: 1").substr(10),
                                       design::catalog())),
              ElementsAre("1:9 design.version"));
}

// A workload is of one kind: of two, and of none, nothing is read.
TEST(ReadDesign, workload_has_one_kind) {
  const auto code = [](const std::string& workload) {
    const auto d =
        read_design(with_one_fleet("count: 1") + "workloads:\n  - " + workload, design::catalog());
    return d ? std::string() : d.error().front().code;
  };
  const std::string jobs = "jobs: { rate: 1 /h, mean_duration: 1 h }";
  const std::string batch = "batch: { core_hours: 10 }";
  EXPECT_EQ(code("{ " + jobs + " }\n"), "");
  EXPECT_EQ(code("{ " + batch + " }\n"), "");
  EXPECT_EQ(code("{ " + jobs + ", " + batch + " }\n"), "design.type");
  EXPECT_EQ(code("{}\n"), "design.type");
}

// Each hostile file gives one clear error, in well under a second of this thread's CPU time: the
// machine may be busy with other tests.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void expect_refused_quickly(const std::string& text, std::string_view code) {
  const double start = cpu_seconds();
  const auto d = read_design(text, design::catalog(), {.file = "hostile.yaml"});
  const double took = cpu_seconds() - start;
  ASSERT_FALSE(d);
  ASSERT_EQ(d.error().size(), 1u) << to_text(d.error());
  EXPECT_EQ(d.error()[0].code, code);
  EXPECT_FALSE(d.error()[0].fix.empty());
  EXPECT_LT(took, 1.0) << code;
}

TEST(ReadDesign, refuses_a_hundred_megabytes_of_brackets) {
  std::string huge;
  huge.resize(100'000'000, '[');
  expect_refused_quickly(huge, "file.too-large");
  expect_refused_quickly(std::string(1'000'000, '['), "yaml.too-deep");
  expect_refused_quickly(std::string(1'000'000, '{'), "yaml.too-deep");
}

TEST(ReadDesign, refuses_nesting_two_hundred_thousand_deep) {
  expect_refused_quickly(std::string(200'000, '[') + std::string(200'000, ']'), "yaml.too-deep");
  std::string json;
  for (int i = 0; i < 200'000; ++i) json += R"({"a":)";
  expect_refused_quickly(json, "yaml.too-deep");
  std::string dashes;
  for (int i = 0; i < 200'000; ++i) dashes += "- ";
  expect_refused_quickly(dashes + "1", "yaml.too-deep");
  std::string questions;
  for (int i = 0; i < 200'000; ++i) questions += "? ";
  expect_refused_quickly(questions + "1", "yaml.too-deep");
  std::string stairs;
  for (int i = 0; i < 1'000; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  expect_refused_quickly(stairs, "yaml.too-deep");
  // Closing brackets inside strings must not hide the open ones.
  std::string hidden;
  for (int i = 0; i < 100'000; ++i) hidden += "[\"]\",";
  expect_refused_quickly(hidden, "yaml.too-deep");
}

TEST(ReadDesign, refuses_text_that_is_not_utf8) {
  expect_refused_quickly("orrery: 1\nname: \xff\xfe\n", "file.not-utf8");
  expect_refused_quickly(std::string(1'000'000, '\x80'), "file.not-utf8");
  expect_refused_quickly("orrery: 1\nname: \"a\\_b\"\n", "yaml.escape");
  expect_refused_quickly("orrery: 1\n\"na\\Nme\": x\n", "yaml.escape");
}

TEST(ReadDesign, refuses_aliases_that_multiply) {
  std::string laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) laughs += ", " + before;
    laughs += "]\n";
  }
  expect_refused_quickly(laughs, "yaml.too-many-values");
  expect_refused_quickly("a: &a [*a]\n", "yaml.alias");
}

TEST(ReadDesign, refuses_a_megabyte_of_small_values) {
  std::string keys;
  for (int i = 0; keys.size() < 1'000'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  expect_refused_quickly(keys, "yaml.too-many-values");
  std::string list = "a: [";
  while (list.size() < 1'000'000) list += "1,";
  expect_refused_quickly(list + "1]", "yaml.too-many-values");
  std::string anchors = "a: ";
  for (int i = 0; i < 100'000; ++i) anchors += "&a ";
  const auto d = read_design(anchors + "1", design::catalog());
  EXPECT_FALSE(d);
}

TEST(ReadDesign, reads_a_model_from_its_config_json) {
  const std::string text =
      with_one_fleet("count: 4") + "workloads:\n  - train: { model: my/config.json, batch: 8 }\n";
  EXPECT_THAT(brief_faults(read_design(text, design::catalog())),
              ElementsAre("7:21 design.no-files"));
  const catalog::ReadFile read = [](std::string_view path) -> Result<std::string> {
    if (path != "my/config.json") return fail({.what = "no such file"});
    return R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
               "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
               "vocab_size": 128256})";
  };
  const auto d = read_design(text, design::catalog(), {.file = "a.yaml", .read_file = read});
  ASSERT_TRUE(d) << faults_of(d);
  const catalog::ModelShape* shape = design::find_model(*d, design::catalog(), "my/config.json");
  ASSERT_NE(shape, nullptr);
  EXPECT_EQ(shape->layers, 32);
  const catalog::ReadFile none = [](std::string_view) -> Result<std::string> {
    return fail({.what = "no such file"});
  };
  EXPECT_THAT(
      brief_faults(read_design(text, design::catalog(), {.file = "a.yaml", .read_file = none})),
      ElementsAre("7:21 design.model-file"));
}

TEST(ReadDesign, refuses_impossible_weibull_shapes) {
  const auto fault = [](std::string_view shape) {
    const auto d = read_design(
        "orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, "
        "count: 2, failures: { shape: " +
            std::string(shape) + " } }\n",
        design::catalog());
    return d ? "" : d.error().front().code;
  };
  for (const char* shape : {"0.3", "1", "5"}) EXPECT_EQ(fault(shape), "");
  for (const char* shape : {"0.29", "846"}) {
    EXPECT_EQ(fault(shape), "design.range");
  }
}

// A line of a fleet or a tier with an impossible figure, and the codes that refuse it.
std::string fault_with(std::string_view custom, std::string_view tier) {
  const std::string text =
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, "
      "count: 2, custom: { " +
      std::string(custom) + " } }\nstorage:\n  - { tier: hot, kind: nfs, " + std::string(tier) +
      " }\n";
  const auto d = read_design(text, design::catalog());
  return d ? "" : d.error().front().code;
}

TEST(ReadDesign, refuses_impossible_figures) {
  EXPECT_EQ(fault_with("max_power: 10.2 kW", "write: 1 GB/s"), "");
  EXPECT_EQ(fault_with("max_power: 0 kW", "write: 1 GB/s"), "design.range");
  EXPECT_EQ(fault_with("idle_power: 10.3 kW", "write: 1 GB/s"), "design.range");
  EXPECT_EQ(fault_with("idle_power: 10.2 kW", "write: 1 GB/s"), "");
  // The catalog's node idles at 1.9 kW and trains at 7.8.
  EXPECT_EQ(fault_with("max_power: 5 kW", "write: 1 GB/s"), "design.range");
  EXPECT_EQ(fault_with("sockets: 2", "write: 1e-300 GB/s"), "design.range");
  EXPECT_EQ(fault_with("sockets: 2", "write: 999 B/s"), "design.range");
  EXPECT_EQ(fault_with("sockets: 2", "write: 1 kB/s"), "");
  EXPECT_EQ(fault_with("sockets: 2", "read: 1001 PB/s"), "design.range");
  EXPECT_EQ(fault_with("sockets: 2", "usable: 0"), "design.range");
  EXPECT_EQ(fault_with("sockets: 2", "usable: 0.01"), "");
}

// A trace is opened, checked and used; what it lacks is reported, not invented.
TEST(ReadDesign, reads_the_lengths_of_a_trace) {
  const std::string text =
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2 }]\n"
      "workloads:\n  - serve: { model: llama-3-8b, arrivals: { rate: 1 /s, trace: t.csv } }\n";
  const auto with = [&](std::string_view table) {
    const catalog::ReadFile file = [table](std::string_view) -> Result<std::string> {
      return std::string(table);
    };
    return read_design(text, design::catalog(), {.file = "a.yaml", .read_file = file});
  };
  const auto read = with("input_tokens,output_tokens\n100,20\n300,40\n");
  ASSERT_TRUE(read) << faults_of(read);
  const design::Arrivals& arrivals = std::get<design::Serve>(read->workloads[0].task).arrivals;
  EXPECT_DOUBLE_EQ(*arrivals.input_tokens, 200);
  EXPECT_DOUBLE_EQ(*arrivals.output_tokens, 30);
  EXPECT_THAT(brief_faults(with("a,b\n1,2\n")), ElementsAre("6:64 design.trace-file"));
  EXPECT_THAT(brief_faults(with("input_tokens,output_tokens\n")),
              ElementsAre("6:64 design.trace-file"));
  EXPECT_THAT(brief_faults(read_design(text, design::catalog())),
              ElementsAre("6:64 design.no-files"));
}

TEST(ReadDesign, reads_hours_of_a_site) {
  const auto with = [](std::string_view site, std::string_view clean, const std::string& file) {
    const std::string text = fmt::format(
        "orrery: 1\nname: a\nsite: {{ region: usa, {} }}\n"
        "fleet: [{{ name: f, node: dgx-h100, count: 2 }}]\n"
        "workloads:\n  - jobs: {{ rate: 1 /h, mean_duration: 1 h{} }}\n",
        site, clean);
    const catalog::ReadFile read = [file](std::string_view) -> Result<std::string> { return file; };
    return read_design(text, design::catalog(),
                       {.file = "a.yaml", .read_file = file.empty() ? catalog::ReadFile() : read});
  };
  std::string carbon = "carbon_g_per_kwh\n", pue = "pue\n";
  for (int h = 0; h < 24; ++h) carbon += "300\n", pue += "1.3\n";
  const std::string_view waits = ", clean_hours: { below: 200 g/kWh, wait: 12 h }";
  const auto read = with("hours: h.csv", waits, carbon);
  ASSERT_TRUE(read) << faults_of(read);
  const catalog::SiteHours* hours = design::find_hours(*read, read->sites[0]);
  ASSERT_NE(hours, nullptr);
  EXPECT_EQ(hours->carbon.size(), 24U);
  const auto& clean = std::get<design::Jobs>(read->workloads[0].task).clean_hours;
  ASSERT_TRUE(clean);
  EXPECT_NEAR(*clean->below / grams_per_kwh(1), 200, 1e-9);
  EXPECT_THAT(brief_faults(with("hours: h.csv", waits, pue)),
              ElementsAre("6:58 design.clean-hours"));
  EXPECT_THAT(brief_faults(with("power: 1 MW", waits, pue)),
              ElementsAre("6:58 design.clean-hours"));
  EXPECT_THAT(brief_faults(with("hours: h.csv, pue: 1.2", waits, carbon)), ElementsAre());
  EXPECT_THAT(brief_faults(with("hours: h.csv, pue: 1.2", "", pue)),
              ElementsAre("3:41 design.hours-file"));
  EXPECT_THAT(brief_faults(with("hours: h.csv", waits, "pue\n1\n")),
              ElementsAre("3:29 design.hours-file"));
  EXPECT_THAT(brief_faults(with("hours: h.csv", waits, "")), ElementsAre("3:29 design.no-files"));
}

TEST(ReadDesign, stops_at_a_hundred_faults) {
  std::string text = "orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n";
  for (int i = 0; i < 1000; ++i) text += "  - { name: a, node: none, count: -1, x: 1 }\n";
  const auto d = read_design(text, design::catalog());
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().size(), 100u);
}

TEST(ReadDesign, repeats_a_value_by_alias) {
  const auto d = read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n"
      "  - { name: a, node: dgx-h100, count: 2, failures: &f { repair: 4 h } }\n"
      "  - { name: b, node: dgx-h200, count: 2, failures: *f }\n",
      design::catalog());
  ASSERT_TRUE(d) << faults_of(d);
  EXPECT_EQ(d->fleet[1].failures.repair, hours(4));
}

constexpr const char* kHead = "orrery: 1\nname: a\nsite: { region: usa }\n";

std::string design_with(const std::string& more, const std::string& fleet = {}) {
  return kHead + std::string("fleet: [{ name: f, node: dgx-h100, count: 8") + fleet + " }]\n" +
         more;
}

TEST(ReadDesign, unknown_and_missing_top_level_keys) {
  EXPECT_THAT(said_of(design_with("colour: red\nstorages: []\n")),
              ElementsAre("design.unknown-key at colour:", "design.unknown-key at storages:"));
  EXPECT_THAT(said_of("orrery: 1\nname: a\nfleet: [{ name: f, node: dgx-h100, count: 8 }]\n"),
              ElementsAre("design.missing at orrery:"));
  EXPECT_THAT(said_of(design_with("sites: [{ name: x, region: usa }]\n")),
              ElementsAre("design.conflict at [{"));
  EXPECT_THAT(said_of("orrery: 3\n" + design_with("").substr(10)),
              ElementsAre("design.version at 3"));
}

TEST(ReadDesign, missing_value_has_the_place_around_it) {
  const auto d = read_design(design_with(""), design::catalog(), {.file = "d.yaml"});
  ASSERT_TRUE(d);
  EXPECT_EQ(design::place_of(*d, "site"), (Place{"d.yaml", 3, 7}));
  EXPECT_EQ(design::place_of(*d, "site.power"), (Place{"d.yaml", 3, 7}));
  EXPECT_EQ(design::place_of(*d, "site.region"), (Place{"d.yaml", 3, 17}));
  EXPECT_EQ(design::place_of(*d, "fleet"), (Place{"d.yaml", 4, 8}));
  EXPECT_EQ(design::place_of(*d, "storage"), (Place{"d.yaml", 1, 1}));
}

TEST(ReadDesign, slices_and_keep_rules_are_sorted_by_name) {
  const auto d =
      read_design(design_with("", ", mig: { 3g.40gb: 1, 1g.10gb: 2 }"), design::catalog());
  ASSERT_TRUE(d) << to_text(d.error());
  ASSERT_EQ(d->fleet[0].mig.size(), 2u);
  EXPECT_EQ(d->fleet[0].mig[0].profile, "1g.10gb");
  EXPECT_EQ(d->fleet[0].mig[0].count, 2);
  EXPECT_EQ(d->fleet[0].mig[1].profile, "3g.40gb");
  const auto t = read_design(
      design_with(
          "storage: [{ tier: hot, kind: nfs }, { tier: cold, kind: object }]\n"
          "workloads:\n  - train: { model: llama-3-8b, tokens: 1T, sequence: 4096, batch: 64, "
          "checkpoint: { to: [hot, cold], keep: { hot: 3, cold: milestones } } }\n"),
      design::catalog());
  ASSERT_TRUE(t) << to_text(t.error());
  const auto& keep = std::get<design::Train>(t->workloads[0].task).checkpoint->keep;
  EXPECT_THAT(keep,
              ElementsAre(design::KeepRule{"cold", std::nullopt}, design::KeepRule{"hot", 3}));
}

}  // namespace
}  // namespace orrery::design_text
