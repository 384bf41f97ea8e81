// Every template is a design that passes its own review. The results of its review and of two
// simulated days, and its emitted files, are in tests/golden/templates_*.golden.
//
// Those files hold ids, numbers and directives, but no labels and no sentences: every change in
// them is a changed result. UPDATE_GOLDEN=1 rewrites them.
#include "model/design_text/templates.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/text.h"
#include "golden_file.h"
#include "model/design_text/read_design.h"
#include "model/design_text/write_design.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "output/emit/dlio.h"
#include "output/emit/grafana.h"
#include "output/emit/kubernetes.h"
#include "output/emit/prometheus.h"
#include "output/emit/slurm.h"
#include "output/emit/terraform.h"
#include "output/report/run_report.h"
#include "output/report/verdict_report.h"
#include "plan/verdict/verdict.h"
#include "twin/run/simulation.h"

namespace orrery {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

design::Design read_text(std::string_view text, const std::string& name) {
  auto design = design_text::read_design(text, machine::known().catalog(), {.file = name});
  EXPECT_TRUE(design.has_value()) << name << '\n' << (design ? "" : to_text(design.error()));
  return design ? *std::move(design) : design::Design{};
}

verdict::Verdict verdict_of(std::string_view text, const std::string& name) {
  return verdict::verdict_of(read_text(text, name), machine::known(), {.spends = false});
}

std::string text_of(std::string_view name) {
  const auto found = design_text::find_template(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found ? std::string(found->text) : std::string();
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const design_text::Template& t : design_text::templates()) names.emplace_back(t.name);
  return names;
}

class EveryTemplate : public testing::TestWithParam<std::string> {};

TEST_P(EveryTemplate, passes_its_review) {
  const verdict::Verdict v = verdict_of(text_of(GetParam()), GetParam());
  EXPECT_TRUE(v.passes()) << v.summary;
  for (const rules::Finding& f : v.findings) {
    EXPECT_EQ(f.severity, Severity::note) << f.rule << ": " << f.what;
  }
  for (const figures::GoalOutcome& g : v.goals) EXPECT_TRUE(g.met) << g.text;
  EXPECT_FALSE(v.goals.empty()) << "a template shows what a goal is";
}

TEST_P(EveryTemplate, gives_the_same_bytes_twice) {
  const design::Design design = read_text(text_of(GetParam()), GetParam());
  const std::string once = report::json_of(verdict::verdict_of(design, machine::known()));
  EXPECT_EQ(once, report::json_of(verdict::verdict_of(design, machine::known())));
  // Reads the design again from its canonical text; only places in the file may differ, and a
  // passing design hardly shows those.
  const design::Design again = read_text(design_text::write_design(design), "again");
  EXPECT_EQ(review::run_stages(again, machine::known()).cost.annual.base(),
            review::run_stages(design, machine::known()).cost.annual.base());
}

// The list of `orrery init`, the docs and the console show the description as it is.
TEST_P(EveryTemplate, has_a_description_that_is_a_full_sentence) {
  const std::string_view summary = design_text::find_template(GetParam())->summary;
  EXPECT_GE(summary.size(), 30U) << summary;
  EXPECT_TRUE(summary.ends_with('.')) << summary;
}

void expect_narrow(const std::string& text) {
  for (const std::string_view line : split(text, '\n')) {
    const auto columns = std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; });
    EXPECT_LE(columns, 100) << line;
  }
}

TEST_P(EveryTemplate, prints_plan_and_run_within_100_columns) {
  const design::Design design = read_text(text_of(GetParam()), GetParam());
  const verdict::Verdict v = verdict::verdict_of(design, machine::known());
  expect_narrow(to_text(report::document_of(v, {.sources = false})));
  expect_narrow(to_text(report::document_of(v, {.explain = true})));
  const machine::Machine machine = jobs::build_machine(design, machine::known());
  const run::Simulation simulation(machine, {.horizon = days(1)});
  const auto first = simulation.replicate(0);
  const run::Run run = simulation.run_of(std::span(&*first, 1));
  expect_narrow(to_text(report::document_of(run, &v)));
  expect_narrow(to_text(report::document_of(run, &v, {.explain = true})));
}

INSTANTIATE_TEST_SUITE_P(templates, EveryTemplate, testing::ValuesIn(template_names()));

TEST(templates, the_sample_equals_its_template) {
  EXPECT_EQ(read_file("examples/superpod-h100-4su.yaml"), text_of("superpod-h100"));
}

using Json = nlohmann::json;

// `0.9882`, followed by the interval if it has a width; null is `-`.
std::string range_of(const Json& f) {
  const auto digits = [](const Json& v) {
    return v.is_number() ? fmt::format("{:.4g}", v.get<double>()) : "-";
  };
  std::string out = digits(f.at("value"));
  if (f.at("low") != f.at("value") || f.at("high") != f.at("value")) {
    out += fmt::format(" ({} {})", digits(f.at("low")), digits(f.at("high")));
  }
  return out;
}

// The part that the JSON of both commands shares: goals and figures.
std::string results_of(const Json& answer) {
  std::string out;
  for (const Json& g : answer.at("goals")) {
    out += fmt::format("  goal {} {} {}\n", g.at("metric").get<std::string>(),
                       g.at("outcome").get<std::string>(), range_of(g));
  }
  for (const Json& f : answer.at("figures")) {
    out +=
        fmt::format("  {}/{}/{} {}\n", f.at("layer").get<std::string>(),
                    f.at("section").get<std::string>(), f.at("id").get<std::string>(), range_of(f));
  }
  return out;
}

// Records every key of the JSON by its path with the types of its values: `figures[].low: number`.
// The ids of figures in a section count as one key.
void note_keys(const Json& value, const std::string& path,
               std::map<std::string, std::set<std::string>>& keys) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      const std::string name = path == "sections[].figures" ? "*" : key;
      note_keys(inner, path.empty() ? name : path + '.' + name, keys);
    }
  } else if (value.is_array()) {
    keys[path + "[]"];
    for (const Json& inner : value) note_keys(inner, path + "[]", keys);
  } else {
    keys[path].insert(value.type_name());
  }
}

std::string text_of_keys(const std::string& command,
                         const std::map<std::string, std::set<std::string>>& keys) {
  std::string out = command + '\n';
  for (const auto& [path, types] : keys) {
    out += "  " + path + (types.empty() ? "" : ":");
    for (const std::string& type : types) out += ' ' + type;
    out += '\n';
  }
  return out;
}

Json plan_json(const std::string& name) {
  return Json::parse(report::json_of(verdict_of(text_of(name), name)));
}

// Two days, one replication: enough for saves, failures and queues, and all templates take only
// seconds.
Json simulate_json(const std::string& name) {
  const design::Design design = read_text(text_of(name), name);
  const machine::Machine machine = jobs::build_machine(design, machine::known());
  const run::Simulation simulation(machine, {.horizon = days(2)});
  const auto first = simulation.replicate(0);
  return Json::parse(
      report::json_of(simulation.run_of(std::span(&*first, 1)),
                      verdict::verdict_of(design, machine::known(), {.spends = false})));
}

TEST(TemplateGoldens, plan_results_match_the_golden_files) {
  std::string now;
  std::map<std::string, std::set<std::string>> keys;
  for (const std::string& name : template_names()) {
    const Json answer = plan_json(name);
    note_keys(answer, "", keys);
    now += name + '\n';
    for (const Json& f : answer.at("findings")) {
      now += fmt::format("  finding {} {}\n", f.at("rule").get<std::string>(),
                         f.at("severity").get<std::string>());
    }
    now += results_of(answer) + '\n';
  }
  expect_golden(golden_folder() / "templates_plan.golden", now);
  expect_golden(golden_folder() / "templates_plan_keys.golden",
                text_of_keys("orrery plan --format json", keys));
}

TEST(TemplateGoldens, simulate_results_match_the_golden_files) {
  std::string now;
  std::map<std::string, std::set<std::string>> keys;
  for (const std::string& name : template_names()) {
    const Json answer = simulate_json(name);
    note_keys(answer, "", keys);
    now += fmt::format("{}\n  events {}\n", name, answer.at("events").get<std::int64_t>());
    for (const auto& [cause, seconds] : answer.at("gpu_seconds").items()) {
      now += fmt::format("  gpu_seconds/{} {:.4g}\n", cause, seconds.get<double>());
    }
    for (const Json& d : answer.at("differs_from_plan")) {
      now += fmt::format("  differs {}/{}\n", d.at("section").get<std::string>(),
                         d.at("id").get<std::string>());
    }
    now += results_of(answer) + '\n';
  }
  expect_golden(golden_folder() / "templates_simulate.golden", now);
  expect_golden(golden_folder() / "templates_simulate_keys.golden",
                text_of_keys("orrery simulate --format json", keys));
}

struct Emitter {
  std::string name;
  Result<emit::EmittedFiles> (*emit)(const review::Review&, const emit::EmitSource&);
};

const std::vector<Emitter>& emitters() {
  using review::Review;
  static const std::vector<Emitter> all = {
      {"dlio", [](const Review& r, const emit::EmitSource& s) { return emit_dlio(r, s); }},
      {"grafana", [](const Review& r, const emit::EmitSource& s) { return emit_grafana(r, s); }},
      {"kubernetes",
       [](const Review& r, const emit::EmitSource& s) { return emit_kubernetes(r, s); }},
      {"prometheus",
       [](const Review& r, const emit::EmitSource& s) { return emit_prometheus(r, s); }},
      {"slurm", [](const Review& r, const emit::EmitSource& s) { return emit_slurm(r, s); }},
      {"terraform",
       [](const Review& r, const emit::EmitSource& s) { return emit_terraform(r, s); }},
  };
  return all;
}

bool starts_with_any(std::string_view line, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [line](auto b) { return line.starts_with(b); });
}

// Returns whether a line controls the system that reads it; comments, help texts and annotations do
// not. The dashboard's planned values and the alerts on missing metrics repeat other lines and are
// left out.
bool is_directive(const std::string& path, std::string_view line) {
  if (line.empty()) return false;
  if (path.ends_with(".sh")) return starts_with_any(line, {"#SBATCH", "export "});
  if (line.front() == '#') return false;
  if (path.starts_with("slurm/") || path.starts_with("terraform/") || path.starts_with("dlio/")) {
    return true;
  }
  if (path.starts_with("kubernetes/")) {
    return starts_with_any(line, {"kind:", "name:", "- name:"}) ||
           line.find_first_of("0123456789") != std::string_view::npos;
  }
  if (path.starts_with("prometheus/rules/")) {
    return starts_with_any(line, {"- alert:", "- record:", "expr:"}) &&
           line.find("absent(") == std::string_view::npos;
  }
  return path.starts_with("grafana/") && line.starts_with("\"expr\":") &&
         line.find("vector(") == std::string_view::npos;
}

using Lines = std::vector<std::string>;

// The files of one template by `emitter/path`; a refusal is listed under the emitter's name.
std::map<std::string, Lines> emitted_lines(const std::string& name) {
  const design::Design design = read_text(text_of(name), name);
  const review::Review review = review::run_stages(design, machine::known());
  std::map<std::string, Lines> all;
  for (const Emitter& e : emitters()) {
    const auto files = e.emit(review, {.design = name, .version = "", .digest = "0"});
    if (!files) {
      all[e.name].push_back("refused: " + files.error().front().code);
      continue;
    }
    for (const emit::EmittedFile& file : *files) {
      const std::string path = e.name + '/' + file.path;
      Lines& kept = all[path];
      for (const std::string_view line : split(file.text, '\n')) {
        if (is_directive(path, trimmed(line))) kept.emplace_back(trimmed(line));
      }
    }
  }
  return all;
}

using LinesOf = std::map<std::string, std::map<std::string, Lines>>;  // by path and template

// The lines of a file that at least three templates have, with the templates that do not have them.
std::map<std::string, std::set<std::string>> shared_lines(const std::map<std::string, Lines>& by) {
  std::map<std::string, std::set<std::string>> holders;
  for (const auto& [name, lines] : by) {
    for (const std::string& line : lines) holders[line].insert(name);
  }
  std::erase_if(holders, [](const auto& one) { return one.second.size() < 3; });
  for (auto& [line, names] : holders) {
    std::set<std::string> without;
    for (const auto& [name, lines] : by) {
      if (!names.contains(name)) without.insert(name);
    }
    names = std::move(without);
  }
  return holders;
}

std::string joined_names(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " ") + name;
  return out;
}

// One file over all templates: which templates have it, the lines that most share, and then the
// lines of each.
std::string text_of_file(const std::string& path, const std::map<std::string, Lines>& by) {
  const auto shared = shared_lines(by);
  std::set<std::string> names;
  std::string shared_text, own_text;
  for (const auto& [line, without] : shared) {
    shared_text += "    " + line + '\n';
    if (!without.empty()) shared_text += "      not in " + joined_names(without) + '\n';
  }
  for (const auto& [name, lines] : by) {
    names.insert(name);
    std::string own;
    for (const std::string& line : lines) {
      if (!shared.contains(line)) own += "    " + line + '\n';
    }
    if (!own.empty()) own_text += "  " + name + '\n' + own;
  }
  if (!shared_text.empty()) shared_text = "  three or more\n" + shared_text;
  return path + '\n' + "  in " + joined_names(names) + '\n' + shared_text + own_text;
}

TEST(TemplateGoldens, emitted_files_match_the_golden_files) {
  LinesOf by_path;
  for (const std::string& name : template_names()) {
    for (auto& [path, lines] : emitted_lines(name)) by_path[path][name] = lines;
  }
  std::string now;
  for (const auto& [path, by] : by_path) now += text_of_file(path, by) + '\n';
  expect_golden(golden_folder() / "templates_emit.golden", now);
}

}  // namespace
}  // namespace orrery
