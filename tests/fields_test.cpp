// Every accepted field changes a result: each moves what its row of the table says, in the
// direction that it says.
//
// Together, tests/rich/*.yaml use every field of the file. Each value is changed in turn, and the
// review and the emitted files of both designs are compared; printing the value itself does not
// count. A field that cannot have an effect yet is refused by the reader, with its reason. Effects
// that a closed-form review does not show ("run ttft falls") are checked by a simulated day. The
// whole walk runs in `./test --full`, otherwise every twenty-fifth value. tests/rich/unproven.txt
// would list fields whose effect no rich design shows yet. It is empty now, and a field whose
// effect is shown must be removed from it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "app/cli/store_design.h"
#include "field_walk.h"
#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/shape.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "output/emit/grafana.h"
#include "output/emit/kubernetes.h"
#include "output/emit/prometheus.h"
#include "output/emit/slurm.h"
#include "output/emit/terraform.h"
#include "plan/verdict/verdict.h"
#include "study/compare/network_load.h"
#include "twin/run/simulation.h"

namespace orrery {
namespace {

// Simulates a day of a design: "run ttft" and the like.
std::map<std::string, double> figures_of_run(const design::Design& design) {
  const machine::Machine m = jobs::build_machine(design, machine::known());
  const run::Simulation simulation(m, {.horizon = days(1), .replications = 1});
  std::vector<run::Replication> done;
  done.push_back(*simulation.replicate(0));
  std::map<std::string, double> all;
  for (const figures::Section& section : simulation.run_of(done).sections) {
    for (const figures::Figure& f : section.figures) all["run " + f.id()] += f.estimate.value;
  }
  return all;
}

bool is_of_run(const design::Field& f) { return f.moves.starts_with("run "); }

// All results of a design: figures by id, findings, emitted files by name.
struct Signals {
  std::map<std::string, double> figures;
  std::map<std::string, int> rules;
  std::map<std::string, std::string> files;
};

void add_files(Signals& s, const std::string& target, const Result<emit::EmittedFiles>& files) {
  if (!files) return;
  for (const emit::EmittedFile& f : *files) s.files[target + "/" + f.path] = f.text;
}

Signals signals_of(const design::Design& design) {
  Signals s;
  const review::Review review = review::run_stages(design, machine::known());
  const verdict::Verdict verdict = verdict::verdict_of(review, {.spends = false, .insist = false});
  for (const figures::Section& section : verdict.sections) {
    for (const figures::Figure& f : section.figures) {
      s.figures[f.id()] += f.estimate.value;
      s.figures[f.id() + "_width"] += f.estimate.high - f.estimate.low;
    }
  }
  for (const figures::GoalOutcome& g : verdict.goals) s.figures["goal_" + g.metric] = g.met ? 1 : 0;
  s.figures["ready"] = 0;
  for (const rules::Finding& f : verdict.findings) ++s.rules[f.rule];
  const emit::EmitSource source{.design = "rich", .version = "", .digest = "none"};
  add_files(s, "slurm", emit_slurm(review, source));
  add_files(s, "kubernetes", emit_kubernetes(review, source));
  add_files(s, "prometheus", emit_prometheus(review, source));
  add_files(s, "grafana", emit_grafana(review, source));
  add_files(s, "terraform", emit_terraform(review, source));
  if (const auto store = cli::store_of_design(design)) {
    s.files["store"] = upkeep::store_text("id", store->tiers);
  }
  return s;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Files that a rich design names are in the same folder.
design_text::ReadDesignOptions options() {
  return {.read_file = [](std::string_view path) -> Result<std::string> {
    return read_file(std::filesystem::path(ORRERY_SOURCE_DIR) / "tests" / "rich" / path);
  }};
}

// "section.key" of the fields whose effect no rich design shows yet.
std::set<std::string> unproven_fields() {
  std::istringstream lines(
      read_file(std::filesystem::path(ORRERY_SOURCE_DIR) / "tests" / "rich" / "unproven.txt"));
  std::set<std::string> all;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with('#')) all.insert(line.substr(0, line.find(' ')));
  }
  return all;
}

struct Rich {
  std::string name;
  std::string text;
  design::Design design;
  Signals signals;
  bool is_run = false;  // whether the figures of a simulated day are included
};

std::vector<Rich> rich_designs() {
  std::vector<Rich> all;
  const auto folder = std::filesystem::path(ORRERY_SOURCE_DIR) / "tests" / "rich";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    Rich rich{.name = entry.path().filename().string(), .text = read_file(entry.path())};
    auto design = design_text::read_design(rich.text, machine::known().catalog(), options());
    EXPECT_TRUE(design) << rich.name << '\n' << (design ? "" : to_text(design.error()));
    if (!design) continue;
    rich.design = *std::move(design);
    rich.signals = signals_of(rich.design);
    all.push_back(std::move(rich));
  }
  std::ranges::sort(all, {}, &Rich::name);
  return all;
}

// Returns how a figure moved: +1, -1 or 0, ignoring rounding.
int moved(double before, double after) {
  const double size = std::max(std::fabs(before), std::fabs(after));
  return std::fabs(after - before) <= 1e-9 * size ? 0 : after > before ? 1 : -1;
}

double figure(const Signals& s, std::string_view id) {
  double sum = 0;
  for (const auto& [name, value] : s.figures) {
    const bool matches = id.ends_with('_') ? name.starts_with(id) : name == id;
    if (matches) sum += value;
  }
  return sum;
}

// Describes the differences, such as "annual rises, it_nameplate rises, slurm/slurm.conf, rule
// fabric.endpoints".
std::string seen(const Signals& before, const Signals& after) {
  std::string out;
  std::set<std::string> ids;
  for (const auto& [id, value] : before.figures) ids.insert(id);
  for (const auto& [id, value] : after.figures) ids.insert(id);
  for (const std::string& id : ids) {
    const int way = moved(figure(before, id), figure(after, id));
    if (way != 0) out += id + (way > 0 ? " rises, " : " falls, ");
  }
  for (const auto& [name, text] : after.files) {
    const auto was = before.files.find(name);
    if (was == before.files.end() || was->second != text) out += name + ", ";
  }
  std::set<std::string> rules;
  for (const auto& [id, n] : before.rules) rules.insert(id);
  for (const auto& [id, n] : after.rules) rules.insert(id);
  for (const std::string& id : rules) {
    const auto n = [&](const Signals& s) { return s.rules.contains(id) ? s.rules.at(id) : 0; };
    if (n(before) != n(after)) out += "rule " + id + ", ";
  }
  return out;
}

// Returns 1 if the figure moved as declared, -1 if it moved the other way, 0 if it did not move.
int as_declared(std::string_view moves, const Signals& before, const Signals& after, int way) {
  const std::size_t from = moves.starts_with("run ") ? 4 : 0;
  const std::string id(moves.substr(0, moves.find(' ', from)));
  const std::string_view how = moves.size() > id.size() ? moves.substr(id.size() + 1) : "";
  if (id == "rule") {
    const std::string rule(how);
    const auto n = [&](const Signals& s) { return s.rules.contains(rule) ? s.rules.at(rule) : 0; };
    return n(before) != n(after) ? 1 : 0;
  }
  if (id == "emit") {
    std::set<std::string> names;
    for (const auto& [name, text] : before.files) names.insert(name);
    for (const auto& [name, text] : after.files) names.insert(name);
    for (const std::string& name : names) {
      if (!name.starts_with(how)) continue;
      const bool both = before.files.contains(name) && after.files.contains(name);
      if (!both || before.files.at(name) != after.files.at(name)) return 1;
    }
    return 0;
  }
  const int delta = moved(figure(before, id), figure(after, id));
  if (delta == 0) return 0;
  if (how == "changes") return 1;
  if (way == 0) return 0;
  return (delta > 0) == ((how == "rises") == (way > 0)) ? 1 : -1;
}

// Applies the variant to the author's text; nullopt if the reader refuses it.
std::optional<Signals> with(Rich& rich, const FieldPlace& place, const Variant& variant) {
  std::vector<design_text::Change> changes = variant.also;
  changes.push_back({place.path, variant.value});
  std::string text = rich.text;
  for (const design_text::Change& change : changes) {
    const auto edited = design_text::edit_text(text, change, machine::known().catalog(), options());
    if (!edited) return std::nullopt;
    text = edited->text;
  }
  const auto design = design_text::read_design(text, machine::known().catalog(), options());
  if (!design) return std::nullopt;
  Signals after = signals_of(*design);
  if (!is_of_run(place.field)) return after;
  if (!rich.is_run) rich.signals.figures.merge(figures_of_run(rich.design));
  rich.is_run = true;
  after.figures.merge(figures_of_run(*design));
  return after;
}

bool is_label(const design::Field& f) { return f.moves == "label"; }

bool full() { return std::getenv("ORRERY_FULL") != nullptr; }

TEST(Fields, every_field_states_its_effect_or_why_it_has_none_yet) {
  std::string silent;
  for (const design_text::SectionShape& section : design_text::design_shape()) {
    for (const design_text::FieldShape& f : section.fields) {
      const bool holds_others =
          f.kind == design_text::ValueKind::section || f.kind == design_text::ValueKind::workload;
      if (holds_others || !f.field.moves.empty() || !f.field.not_yet.empty()) continue;
      silent += section.name + "." + f.key + "\n";
    }
  }
  EXPECT_EQ(silent, "");
}

// A field that cannot have an effect is refused with the sentence of its row.
TEST(Fields, fields_without_an_effect_are_refused_with_a_reason) {
  const auto design = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2 }]\n"
      "workloads:\n  - serve: { model: llama-3-8b, arrivals: { rate: 1 /s }, max_tokens: 8 }\n",
      machine::known().catalog());
  ASSERT_FALSE(design);
  ASSERT_EQ(design.error().size(), 1U);
  EXPECT_EQ(design.error()[0].code, "design.not-yet");
  EXPECT_FALSE(design.error()[0].why.empty());
}

TEST(Fields, the_rich_designs_use_every_field) {
  std::set<std::string> said;
  for (const Rich& rich : rich_designs()) {
    for (const FieldPlace& p : FieldWalk(rich.design, machine::known().catalog()).places) {
      said.insert(p.key);
    }
  }
  std::string missing;
  for (const design_text::SectionShape& section : design_text::design_shape()) {
    for (const design_text::FieldShape& f : section.fields) {
      const bool holds_others =
          f.kind == design_text::ValueKind::section || f.kind == design_text::ValueKind::workload;
      if (holds_others || !f.field.not_yet.empty() || is_label(f.field)) continue;
      if (f.key == "dimensions") continue;  // only for a torus, which no rich design has
      if (!said.contains(f.key)) missing += section.name + "." + f.key + "\n";
    }
  }
  EXPECT_EQ(missing, "");
}

TEST(Fields, every_field_has_its_declared_effect) {
  std::vector<Rich> all = rich_designs();
  struct Proof {
    bool shown = false;
    std::string against;
    std::string saw;
  };
  std::map<std::string, Proof> proofs;
  int number = 0;
  const char* only = std::getenv("ORRERY_FIELD");
  for (Rich& rich : all) {
    for (const FieldPlace& p : FieldWalk(rich.design, machine::known().catalog()).places) {
      if (is_label(p.field)) continue;
      if (only != nullptr && p.key != only) continue;
      if (only == nullptr && !full() && number++ % 25 != 0) continue;
      Proof& proof = proofs[p.section + "." + p.key];
      for (const Variant& variant : p.variants) {
        if (proof.shown && variant.way == 0) break;
        const auto after = with(rich, p, variant);
        if (!after) continue;
        const int as = as_declared(p.field.moves, rich.signals, *after, variant.way);
        if (as > 0) proof.shown = true;
        if (as < 0) proof.against = p.path + " = " + variant.value + " in " + rich.name;
        if (as <= 0) {
          proof.saw += fmt::format("  {} {} = {}: {}\n", rich.name, p.path, variant.value,
                                   seen(rich.signals, *after).substr(0, 600));
        }
      }
    }
  }
  const std::set<std::string> unproven = unproven_fields();
  for (const auto& [field, proof] : proofs) {
    if (unproven.contains(field)) {
      EXPECT_FALSE(proof.shown && full()) << field
                                          << " has a shown effect: remove it from "
                                             "unproven.txt";
      continue;
    }
    EXPECT_TRUE(proof.shown || (!full() && only == nullptr)) << field << " has no effect:\n"
                                                             << proof.saw;
    EXPECT_EQ(proof.against, "") << field << '\n' << proof.saw;
  }
}

}  // namespace
}  // namespace orrery
