// Files that a design names: which rows of a trace of requests count, what is said of one that
// cannot be read, and a model's config that is read once; hours of one site or several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text::check_files_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Lines = std::vector<std::string>;

std::string served(const std::string& fields) {
  return "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: f, node: dgx-h100, count: "
         "2 }\nworkloads:\n  - serve: { model: llama-3-8b, arrivals: { rate: 1 /s, trace: r.csv" +
         fields + " } }\n";
}

// "IN OUT" as they were read, or what was said.
std::string lengths_of(const std::string& rows, const std::string& fields = "") {
  const auto d = read_design(served(fields), design::catalog(),
                             {.read_file = [&](std::string_view) -> Result<std::string> {
                               return "input_tokens,output_tokens\n" + rows;
                             }});
  if (!d) {
    const Diagnostic& f = d.error().front();
    return f.code + ": " + f.what + " | " + f.why + " | " + f.fix;
  }
  const design::Arrivals& a = std::get<design::Serve>(d->workloads[0].task).arrivals;
  return shortest(a.input_tokens.value_or(-1)) + " " + shortest(a.output_tokens.value_or(-1));
}

const char* const kNoRequests =
    "design.trace-file: `r.csv` holds no requests | a request has at least one token in and one "
    "out | give rows with input_tokens and output_tokens";

// (100 + 300) / 2 and (20 + 40) / 2; a row that lacks a number or has one below nothing is none.
TEST(CheckFiles, the_means_of_a_trace_are_of_its_whole_rows) {
  EXPECT_EQ(lengths_of("100,20\n300,40\n"), "200 30");
  EXPECT_EQ(lengths_of("100,20\n300,40\n,90\n"), "200 30");
  EXPECT_EQ(lengths_of("100,20\n300,40\n900,\n"), "200 30");
  EXPECT_EQ(lengths_of("100,20\nx,90\n300,40\n"), "200 30");
  EXPECT_EQ(lengths_of("100,20\n900,y\n300,40\n"), "200 30");
  EXPECT_EQ(lengths_of("100,20\n-1,90\n300,40\n"), "200 30");
  EXPECT_EQ(lengths_of("100,20\n900,-1\n300,40\n"), "200 30");
  EXPECT_EQ(lengths_of("0,20\n300,0\n"), "150 10") << "nothing is a length among others";
}

TEST(CheckFiles, what_the_design_gives_stands_before_the_trace) {
  EXPECT_EQ(lengths_of("100,20\n300,40\n", ", input_tokens: 7"), "7 30");
  EXPECT_EQ(lengths_of("100,20\n300,40\n", ", output_tokens: 9"), "200 9");
}

TEST(CheckFiles, a_request_has_a_token_each_way) {
  EXPECT_EQ(lengths_of(""), kNoRequests);
  EXPECT_EQ(lengths_of("1,1\n"), "1 1");
  EXPECT_EQ(lengths_of("0,5\n"), kNoRequests);
  EXPECT_EQ(lengths_of("5,0\n"), kNoRequests);
  EXPECT_EQ(lengths_of("1,1\n0,5\n"), kNoRequests) << "half a token is none";
  EXPECT_EQ(lengths_of("2,1\n0,5\n"), "1 3");
  EXPECT_EQ(lengths_of("5,1\n5,0\n"), kNoRequests);
  EXPECT_EQ(lengths_of("-5,5\n"), kNoRequests);
}

Lines told_of(const std::string& text, const catalog::ReadFile& files) {
  const auto d = read_design(text, design::catalog(), {.file = "d.yaml", .read_file = files});
  Lines lines;
  if (d) return lines;
  for (const Diagnostic& f : d.error()) {
    lines.push_back(f.code + " at " + word_at(text, f.place) + ": " + f.what + " | " + f.why +
                    " | " + f.fix);
  }
  return lines;
}

catalog::ReadFile holding(const std::string& text) {
  return [text](std::string_view) -> Result<std::string> { return text; };
}

Result<std::string> unreadable(std::string_view path) {
  return fail({.code = "file.read",
               .what = "nobody may read " + std::string(path),
               .why = "it is locked",
               .fix = "unlock it"});
}

TEST(CheckFiles, a_trace_that_cannot_be_read_says_why) {
  EXPECT_THAT(told_of(served(""), {}),
              ElementsAre("design.no-files at r.csv: `r.csv` cannot be read here | no files are at "
                          "hand in this place | write chat, code or summary"));
  EXPECT_THAT(told_of(served(""), unreadable),
              ElementsAre("design.trace-file at r.csv: `r.csv`: nobody may read r.csv | it is "
                          "locked | unlock it"));
  const auto lacks = [](const std::string& column) {
    return "design.trace-file at r.csv: `r.csv` has no column `" + column +
           "` | a trace is used as it is, and nothing is made up for what it lacks | its first "
           "line must name input_tokens, output_tokens";
  };
  EXPECT_THAT(told_of(served(""), holding("input_tokens\n1\n")),
              ElementsAre(lacks("output_tokens")));
  EXPECT_THAT(told_of(served(""), holding("output_tokens\n1\n")),
              ElementsAre(lacks("input_tokens")));
  for (const std::string mix : {"chat", "code", "summary"}) {
    std::string text = served("");
    text.replace(text.find("r.csv"), 5, mix);
    EXPECT_THAT(told_of(text, unreadable), IsEmpty()) << mix;
  }
}

std::string modelled(const std::string& first, const std::string& second) {
  return "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: f, node: dgx-h100, count: "
         "2 }\nworkloads:\n  - train: { name: a, model: " +
         first + ", tokens: 1T, batch: 64 }\n  - train: { name: b, model: " + second +
         ", tokens: 1T, batch: 64 }\n";
}

constexpr const char* kTinyConfig = R"({"model_type": "llama", "hidden_size": 512,
  "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4,
  "intermediate_size": 1024, "vocab_size": 1000, "torch_dtype": "bfloat16"})";

TEST(CheckFiles, a_models_config_is_read_once) {
  std::vector<std::string> read;
  const auto d = read_design(modelled("tiny.json", "tiny.json"), design::catalog(),
                             {.read_file = [&](std::string_view path) -> Result<std::string> {
                               read.emplace_back(path);
                               return std::string(kTinyConfig);
                             }});
  ASSERT_TRUE(d) << to_text(d.error());
  EXPECT_THAT(read, ElementsAre("tiny.json"));
  ASSERT_EQ(d->local_models.size(), 1U);
  EXPECT_EQ(d->local_models[0].path, "tiny.json");
  EXPECT_EQ(d->local_models[0].shape.hidden, 512);
  const auto two = read_design(modelled("tiny.json", "tinier.json"), design::catalog(),
                               {.read_file = holding(kTinyConfig)});
  ASSERT_TRUE(two);
  ASSERT_EQ(two->local_models.size(), 2U);
  EXPECT_EQ(two->local_models[1].path, "tinier.json");
}

TEST(CheckFiles, a_models_config_that_cannot_be_read_says_why) {
  EXPECT_THAT(told_of(modelled("llama-3-8b", "tiny.json"), {}),
              ElementsAre("design.no-files at tiny.json: `tiny.json` cannot be read here | no "
                          "files are at hand in this place | name a model of the catalog"));
  EXPECT_THAT(told_of(modelled("llama-3-8b", "tiny.json"), unreadable),
              ElementsAre("design.model-file at tiny.json: `tiny.json`: nobody may read tiny.json "
                          "| it is locked | unlock it"));
}

std::string with_hours(const std::string& sites, const std::string& work = "") {
  return "orrery: 1\nname: t\n" + sites + "fleet:\n  - { name: f, node: dgx-h100, count: 2 }\n" +
         work;
}

std::string day_of(const std::string& column, const std::string& value) {
  std::string text = column + "\n";
  for (int i = 0; i < 24; ++i) text += value + "\n";
  return text;
}

TEST(CheckFiles, hours_stand_where_their_site_names_them) {
  const std::string says =
      ": the site has a `pue`, and its hours say it by the hour | one of them would not act | "
      "leave out `pue`, or that column of the file";
  const std::string two =
      "sites:\n  - { name: a, region: usa, pue: 1.1 }\n  - { name: b, region: usa, hours: h.csv, "
      "pue: 1.2 }\n";
  EXPECT_THAT(told_of(with_hours(two), holding(day_of("pue", "1.3"))),
              ElementsAre("design.hours-file at 1.2" + says));
  EXPECT_THAT(told_of(with_hours("sites:\n  - { name: a, region: usa, hours: h.csv, pue: 1.4 }\n"),
                      holding(day_of("pue", "1.3"))),
              ElementsAre("design.hours-file at 1.4" + says));
  EXPECT_THAT(told_of(with_hours("site: { region: usa, hours: h.csv, pue: 1.5 }\n"),
                      holding(day_of("dry_bulb_c", "13"))),
              ElementsAre("design.hours-file at 1.5" + says));
  EXPECT_THAT(told_of(with_hours(two), holding(day_of("carbon_g_per_kwh", "13"))), IsEmpty());
  EXPECT_THAT(
      told_of(with_hours("site: { region: usa, hours: h.csv }\n"), {}),
      ElementsAre("design.no-files at h.csv: `h.csv` cannot be read here | no files are at hand in "
                  "this place | leave `hours` out: the region's means of a year stand in"));
  EXPECT_THAT(told_of(with_hours("site: { region: usa, hours: h.csv }\n"), unreadable),
              ElementsAre("design.hours-file at h.csv: `h.csv`: nobody may read h.csv | it is "
                          "locked | unlock it"));
}

TEST(CheckFiles, a_plant_that_carries_nothing) {
  const auto never = [](const std::string& at) {
    return "design.outage at " + at +
           ": the utility of this site never fails | nothing would be carried | add `outage_mtbf`, "
           "or leave this out";
  };
  EXPECT_THAT(told_of(with_hours("sites:\n  - { name: a, region: usa, outage_mtbf: 1 y, battery: 5 "
                                 "min }\n  - { name: b, region: usa, outage: 2 h, battery: 7 min, "
                                 "generator: 9 s }\n"),
                      {}),
              ElementsAre(never("2"), never("7"), never("9")));
  EXPECT_THAT(told_of(with_hours("site: { region: usa, cooling_design: 60 C }\n"), {}),
              ElementsAre("design.range at 60: the dry bulb a plant is sized for is -40 C to 55 C "
                          "| it rejects heat at 55 C | write the hottest day of a usual year",
                          "design.weather at 60: the site has no hours with dry_bulb_c | nobody "
                          "knows when it is hotter | name a CSV of them in the site's `hours`"));
}

TEST(CheckFiles, work_that_waits_for_clean_hours_needs_them) {
  const std::string sites =
      "sites:\n  - { name: a, region: usa }\n  - { name: b, region: usa, hours: h.csv }\n";
  const std::string fleets =
      "fleet:\n  - { name: f, node: dgx-h100, count: 2, site: a }\n  - { name: g, node: dgx-h100, "
      "count: 2, site: b }\n";
  const auto with = [&](const std::string& work, const std::string& column) {
    return told_of("orrery: 1\nname: t\n" + sites + fleets + "workloads:\n  - " + work + "\n",
                   holding(day_of(column, "2")));
  };
  const std::string waits = "clean_hours: { below: 200 g/kWh, wait: 12 h } }";
  const std::string jobs = "jobs: { rate: 1 /h, mean_duration: 1 h, ";
  const std::string batch = "batch: { core_hours: 9, dataset: { size: 1 TB }, ";
  const auto none = [](const std::string& site) {
    return "design.clean-hours at {: site `" + site +
           "` has no hours with carbon_g_per_kwh | nobody knows which of its hours are clean | "
           "name a CSV of them in the site's `hours`";
  };
  for (const std::string& work : {jobs, batch}) {
    EXPECT_THAT(with(work + waits, "carbon_g_per_kwh"), ElementsAre(none("a"))) << work;
    EXPECT_THAT(with(work + "fleet: g, " + waits, "carbon_g_per_kwh"), IsEmpty()) << work;
    EXPECT_THAT(with(work + "fleet: g, " + waits, "pue"), ElementsAre(none("b"))) << work;
    EXPECT_THAT(with(work + "fleet: f }", "pue"), IsEmpty()) << work;
  }
}

}  // namespace
}  // namespace orrery::design_text::check_files_tests
