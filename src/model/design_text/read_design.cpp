#include "model/design_text/read_design.h"

#include <algorithm>

#include "model/design_text/check_names.h"
#include "model/design_text/profiles.h"
#include "model/design_text/section_reader.h"

namespace orrery::design_text {

const YamlNode* SectionReader::take(std::string_view key) {
  for (std::size_t i = 0; i < node_.keys.size(); ++i) {
    if (node_.keys[i].text != key) continue;
    taken_[i] = true;
    return &node_.items[i];
  }
  return nullptr;
}

void SectionReader::finish() {
  for (std::size_t i = 0; i < node_.keys.size() && !c_.values.full(); ++i) {
    if (!taken_[i]) c_.values.unknown_key(node_.keys[i], known_, noun_);
  }
}

void SectionReader::sites(std::vector<design::Site>& all) {
  known_.emplace_back("site");
  const YamlNode* one = take("site");
  if (one) {
    c_.places.set("site", one->mark);
    all.resize(1);
    read_section(*one, all[0], "site", "site");
  }
  known_.emplace_back("sites");
  const YamlNode* several = take("sites");
  if (several && one) {
    c_.values.complain(several->mark, {"design.conflict",
                                       "both `site` and `sites` are given",
                                       {},
                                       "keep `sites`, each entry with a name"});
  } else if (several) {
    c_.places.set("sites", several->mark);
    read(*several, all, design::kSitesField, "sites");
  } else if (!one) {
    c_.values.missing(node_.mark, "site", noun_, design::kSiteField);
  }
}

void SectionReader::read(const YamlNode& n, std::vector<design::MigSlices>& out,
                         const design::Field&, std::string_view key) {
  if (!c_.values.expect(n, YamlNode::Kind::map, key)) return;
  const design::Field count{.doc = "instances on each accelerator",
                            .range = design::Range::at_least_one};
  for (std::size_t i = 0; i < n.keys.size(); ++i) {
    c_.places.set(path_to(key) + '.' + n.keys[i].text, n.keys[i].mark);
    const auto instances = c_.values.integer(n.items[i], n.keys[i].text, count);
    if (instances) out.push_back({n.keys[i].text, *instances});
  }
  std::ranges::sort(out, {}, &design::MigSlices::profile);
}

void SectionReader::read(const YamlNode& n, std::vector<design::KeepRule>& out,
                         const design::Field&, std::string_view key) {
  if (!c_.values.expect(n, YamlNode::Kind::map, key)) return;
  const design::Field count{.doc = "the number of newest saves to keep, or the word milestones",
                            .range = design::Range::at_least_one};
  for (std::size_t i = 0; i < n.keys.size(); ++i) {
    c_.places.set(path_to(key) + '.' + n.keys[i].text, n.keys[i].mark);
    design::KeepRule rule{.tier = n.keys[i].text};
    if (n.items[i].text != "milestones") {
      rule.newest = c_.values.integer(n.items[i], n.keys[i].text, count);
      if (!rule.newest) continue;
    }
    out.push_back(std::move(rule));
  }
  std::ranges::sort(out, {}, &design::KeepRule::tier);
}

void SectionReader::read_item(const YamlNode& n, design::StorageTier& out, const design::Field&,
                              std::string_view key, std::size_t i) {
  const YamlNode whole = with_profile(n, c_.values.catalog());
  read_section(whole, out, item_path(key, i), "this entry of `" + std::string(key) + "`");
}

void SectionReader::read_item(const YamlNode& n, design::Workload& out, const design::Field&,
                              std::string_view key, std::size_t i) {
  if (!c_.values.expect(n, YamlNode::Kind::map, "a workload")) return;
  static const std::vector<std::string> kKinds = {"train", "serve", "jobs", "batch"};
  if (n.keys.size() != 1) {
    c_.values.complain(n.mark, {"design.type", "a workload must have exactly one key, its kind",
                                "its fields are written below that key",
                                "write `- train: { ... }`, or serve, jobs, batch"});
    return;
  }
  const std::string& kind = n.keys[0].text;
  if (kind == "train") {
    out.task = design::Train{};
  } else if (kind == "serve") {
    out.task = design::Serve{};
  } else if (kind == "jobs") {
    out.task = design::Jobs{};
  } else if (kind == "batch") {
    out.task = design::Batch{};
  } else {
    c_.values.unknown_key(n.keys[0], kKinds, "a workload");
    return;
  }
  const YamlNode& body = n.items[0];
  if (!c_.values.expect(body, YamlNode::Kind::map, kind)) return;
  const std::string path = item_path(key, i) + '.' + kind;
  c_.places.set(path, body.mark);
  SectionReader inner(c_, body, path, kind);
  design::visit_fields(inner, out.terms);
  std::visit([&](auto& task) { design::visit_fields(inner, task); }, out.task);
  inner.finish();
}

void SectionReader::read_item(const YamlNode& n, design::Goal& out, const design::Field&,
                              std::string_view key, std::size_t) {
  if (!c_.values.expect(n, YamlNode::Kind::scalar, key)) return;
  auto goal = design::parse_goal(n.text.size() > kLongestQuantity ? std::string_view() : n.text);
  if (goal) {
    out = *std::move(goal);
  } else {
    c_.values.complain(n.mark, {goal.error().code, goal.error().what, {}, goal.error().fix});
  }
}

namespace {

void check_format(const design::Design& design, ValueReader& values) {
  if (!design.places.given("orrery") || design.format == design::kFormat) return;
  values.complain(
      design.places.find("orrery"),
      {"design.version", "the file is written in format " + std::to_string(design.format),
       "this program reads format 1", "write `orrery: 1`, or use a newer orrery"});
}

void sort_by_place(Diagnostics& faults) {
  std::ranges::stable_sort(
      faults, {}, [](const Diagnostic& d) { return std::pair(d.place.line, d.place.column); });
}

}  // namespace

Result<design::Design> read_design(std::string_view text, const catalog::Catalog& catalog,
                                   const ReadDesignOptions& options, Diagnostics* warnings) {
  Diagnostics faults;
  const auto root = parse_yaml(text, options.file, faults);
  if (!root && !faults.empty()) return std::unexpected(std::move(faults));

  design::Design design;
  design.file = options.file;
  ValueReader values(catalog, design.file, faults);
  if (!root || root->kind != YamlNode::Kind::map) {
    values.complain(root ? root->mark : design::Mark{},
                    {"design.empty", "this is not a design: the file has no keys",
                     "a design begins with `orrery: 1`",
                     "start from a template: orrery init --template single-node"});
    return std::unexpected(std::move(faults));
  }
  ReadContext context{values, design.places};
  design.places.set("", root->mark);
  SectionReader reader(context, *root, "", "the design");
  design::visit_fields(reader, design);
  reader.finish();
  number_workloads(design);
  check_format(design, values);
  check_names(design, values, options.read_file);
  sort_by_place(faults);
  if (has_errors(faults)) return std::unexpected(std::move(faults));
  if (warnings) *warnings = std::move(faults);
  return design;
}

}  // namespace orrery::design_text
