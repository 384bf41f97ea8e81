// Hostile text in every field that an emitter reads: either the design is refused, or the emitted
// files are still valid and contain no line by the attacker.
#include <gmock/gmock.h>

#include <functional>

#include "core/base/text.h"
#include "model/design_text/yaml_tree.h"
#include "output/emit/grafana.h"
#include "output/emit/kubernetes.h"
#include "output/emit/prometheus.h"
#include "output/emit/review_fixture.h"
#include "output/emit/slurm.h"
#include "output/emit/terraform.h"

namespace orrery::emit {
namespace {

using Emitter = std::function<Result<EmittedFiles>(const review::Review&, const EmitSource&)>;

struct NamedEmitter {
  std::string name;
  Emitter run;
};

const std::vector<NamedEmitter>& emitters() {
  static const std::vector<NamedEmitter> kAll = {
      {"slurm", [](auto& r, auto& s) { return emit_slurm(r, s); }},
      {"kubernetes", [](auto& r, auto& s) { return emit_kubernetes(r, s); }},
      {"prometheus", [](auto& r, auto& s) { return emit_prometheus(r, s); }},
      {"grafana", [](auto& r, auto& s) { return emit_grafana(r, s); }},
      {"terraform", [](auto& r, auto& s) { return emit_terraform(r, s); }}};
  return kAll;
}

// Written unescaped, each of these would start a line, end a quote or run a command. All are UTF-8,
// because a design file that is not UTF-8 is refused before it is parsed.
const std::vector<std::string>& hostile_texts() {
  static const std::vector<std::string> kTexts = {"x\nINJECTED=1",
                                                  "x\r\nINJECTED=1",
                                                  "x\xe2\x80\xa8INJECTED: 1",
                                                  "x\"\nINJECTED: 1",
                                                  "x'; INJECTED '",
                                                  "$(INJECTED)",
                                                  "`INJECTED`",
                                                  "x #INJECTED",
                                                  "x: {INJECTED: [",
                                                  "${INJECTED} %{INJECTED}",
                                                  "{{ INJECTED }}",
                                                  "../INJECTED",
                                                  "x\\\nINJECTED",
                                                  "x\tINJECTED\x01",
                                                  std::string("x\0INJECTED", 10),
                                                  std::string(10'000, 'n') + "INJECTED"};
  return kTexts;
}

struct FieldUnderAttack {
  std::string name;
  std::function<void(design::Design&, const std::string&)> set;
};

const std::vector<FieldUnderAttack>& fields() {
  using design::Design;
  static const std::vector<FieldUnderAttack> kAll = {
      {"name", [](Design& d, const std::string& s) { d.name = s; }},
      {"version", [](Design& d, const std::string& s) { d.version = s; }},
      {"description", [](Design& d, const std::string& s) { d.description = s; }},
      {"fleet",
       [](Design& d, const std::string& s) {
         d.fleet[0].name = s;
         for (auto& w : d.workloads) w.terms.fleet = s;
         for (auto& p : d.scheduler.partitions) p.fleet = s;
       }},
      {"mig", [](Design& d, const std::string& s) { d.fleet[0].mig = {{s, 1}}; }},
      {"provider", [](Design& d, const std::string& s) { d.fleet[0].rent->provider = s; }},
      {"tier",
       [](Design& d, const std::string& s) {
         d.storage[0].name = s;
         auto& train = std::get<design::Train>(d.workloads[0].task);
         train.checkpoint->to = {s};
         train.dataset.tier = s;
       }},
      {"tenant",
       [](Design& d, const std::string& s) {
         d.scheduler.quotas[0].tenant = s;
         d.workloads[0].terms.tenant = s;
       }},
      {"partition", [](Design& d, const std::string& s) { d.scheduler.partitions[0].name = s; }},
      {"workload", [](Design& d, const std::string& s) { d.workloads[0].terms.name = s; }},
      {"site", [](Design& d, const std::string& s) { d.sites[0].name = s; }}};
  return kAll;
}

constexpr std::string_view kDesign = R"(
orrery: 1
name: target
version: "1"
description: d
site: { region: gcp-us-east4 }
fleet: [{ name: train, node: dgx-h100, count: 4, rent: { provider: aws } }]
storage:
  - { tier: hot, kind: parallel-fs, servers: 4, read: 40 GB/s, write: 20 GB/s, capacity: 1 PB }
scheduler:
  kind: slurm
  quotas: [{ tenant: vision, share: 0.5 }]
  partitions: [{ name: long, fleet: train }]
workloads:
  - train: { name: run, model: llama-3-8b, tokens: 100B, sequence: 8192, batch: 256, layout: { tp: 1 },
             dataset: { kind: text, size: 1 TB, tier: hot }, checkpoint: { to: [hot] } }
)";

// If the attacker's word is in a file, nothing may interpret it as more than text. In scripts and
// configuration files it may occur only in comments; structured files must still be valid and must
// not have it as a key.
std::string breach_in(const EmittedFile& file) {
  if (file.path.find("INJECTED") != std::string::npos ||
      file.path.find("..") != std::string::npos) {
    return "in the path";
  }
  const bool yaml = file.path.ends_with(".yaml") || file.path.ends_with(".yml");
  const bool json = file.path.ends_with(".json");
  for (const std::string_view line : split(file.text, '\n')) {
    const std::string_view text = trimmed(line);
    if (text.starts_with("INJECTED")) return "a line of its own: " + std::string(text);
    if (text.find("INJECTED") == std::string_view::npos) continue;
    const bool comment = text.starts_with('#') && !text.starts_with("#SBATCH");
    if (!yaml && !json && !comment) return "outside a comment: " + std::string(text);
  }
  if (!yaml && !json) return {};
  std::string document;
  const std::string whole = file.text + "\n---";
  for (const std::string_view line : split(whole, '\n')) {
    if (line != "---") {
      document += std::string(line) + '\n';
      continue;
    }
    Diagnostics faults;
    const auto tree = design_text::parse_yaml(document, file.path, faults);
    const bool blank =
        document.find_first_not_of("# \n") == std::string::npos || (!tree && faults.empty());
    if (!blank && (!tree || has_errors(faults))) return "no longer readable: " + to_text(faults);
    document.clear();
  }
  return {};
}

TEST(HostileNames, no_hostile_name_reaches_a_file_unescaped) {
  int written = 0;
  int refused = 0;
  for (const FieldUnderAttack& field : fields()) {
    for (const std::string& text : hostile_texts()) {
      design::Design design = read_text(kDesign);
      field.set(design, text);
      for (const auto kind : {design::SchedulerKind::slurm, design::SchedulerKind::kubernetes}) {
        design.scheduler.kind = kind;
        const auto r = reviewed(design);
        for (const NamedEmitter& emitter : emitters()) {
          const bool other = (emitter.name == "slurm") != (kind == design::SchedulerKind::slurm);
          if (other) continue;
          const auto files = emitter.run(*r->review, r->source);
          ++(files ? written : refused);
          if (!files) {
            EXPECT_FALSE(files.error().front().code.empty());
            continue;
          }
          for (const EmittedFile& f : *files) {
            EXPECT_EQ(breach_in(f), "") << emitter.name << ' ' << field.name << ' ' << f.path;
          }
        }
      }
    }
  }
  // Both outcomes must occur; otherwise the test tests nothing.
  EXPECT_GT(written, 100);
  EXPECT_GT(refused, 100);
}

TEST(HostileNames, the_harmless_design_is_written) {
  design::Design design = read_text(kDesign);
  for (const NamedEmitter& emitter : emitters()) {
    design.scheduler.kind = emitter.name == "kubernetes" ? design::SchedulerKind::kubernetes
                                                         : design::SchedulerKind::slurm;
    const auto r = reviewed(design);
    const auto files = emitter.run(*r->review, r->source);
    EXPECT_TRUE(files.has_value())
        << emitter.name << to_text(files ? Diagnostics() : files.error());
  }
}

}  // namespace
}  // namespace orrery::emit
