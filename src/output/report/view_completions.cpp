#include "output/report/view_completions.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/json_writer.h"
#include "core/base/units.h"
#include "core/workload/model_math.h"
#include "model/design/goals.h"
#include "model/design/part_ids.h"
#include "model/design_text/shape.h"

namespace orrery::report {
namespace {

using design::Part;
using design_text::FieldShape;
using design_text::SectionShape;
using design_text::ValueKind;

// Deepest nesting of sections; protects against a section inside itself (there is none today).
constexpr int kDeepest = 8;

std::string about(const catalog::Node& n) {
  if (n.accelerators == 0) return n.name;
  return fmt::format("{}, {} x {}", n.name, n.accelerators, n.accelerator_id);
}
std::string about(const catalog::Accelerator& a) {
  return fmt::format("{}, {} {}", a.name, brief(a.memory), a.memory_type);
}
std::string about(const catalog::Switch& s) {
  return fmt::format("{}, {} x {} Gb/s", s.name, s.ports, s.port_rate / gbits_per_s(1));
}
std::string about(const catalog::Nic& n) {
  return fmt::format("{}, {} x {} Gb/s", n.name, n.ports, n.port_rate / gbits_per_s(1));
}
std::string about(const catalog::Optic& o) {
  if (!o.rate) return o.kind;
  return fmt::format("{}, {} Gb/s, {} m", o.kind, *o.rate / gbits_per_s(1), o.reach_m);
}
std::string about(const catalog::StorageDevice& d) {
  return fmt::format("{}, {}, {} read", d.name, brief(d.capacity), brief(d.read));
}
std::string about(const catalog::GridRegion& r) {
  return r.climate.empty() ? r.name : fmt::format("{}, {}", r.name, r.climate);
}
std::string about(const catalog::CoolingMethod& c) {
  return fmt::format("up to {} per rack, PUE {} .. {}", brief(c.rack_practical_max), c.pue_low,
                     c.pue_high);
}
std::string about(const catalog::Redundancy& r) {
  return fmt::format("{}, {} times the capacity", r.name, r.capacity_multiplier);
}
std::string about(const catalog::PowerStage& s) {
  return fmt::format("{}, {:.3g} % efficient", s.name, 100 * s.efficiency_typical);
}
std::string about(const catalog::LeadTime& t) {
  return fmt::format("{}, typically {}", t.item, brief(t.typical));
}
std::string about(const catalog::StorageProfile& p) { return p.title; }
std::string about(const catalog::ModelShape& m) {
  return fmt::format(
      "{} parameters{}", count_to_brief(workload::count_parameters(m).total),
      m.is_moe() ? fmt::format(", {} active", count_to_brief(workload::count_parameters(m).active))
                 : "");
}

using Details = std::map<std::string, std::string>;

template <class Rows>
Details by_id(const Rows& rows) {
  Details all;
  for (const auto& row : rows) all[row.id] = about(row);
  return all;
}

template <class Rows>
Details with_aliases(const Rows& rows) {
  Details all = by_id(rows);
  for (const auto& row : rows) {
    for (const std::string& alias : row.aliases) all[alias] = row.id + ": " + about(row);
  }
  return all;
}

Details scale_up_links(const catalog::Catalog& c) {
  Details all;
  for (const catalog::EmergingPart& p : c.emerging) {
    if (p.kind == catalog::kScaleUpLink) all[p.id] = fmt::format("{}: {}", p.name, p.status);
  }
  return all;
}

Details details_of(const catalog::Catalog& c, Part part) {
  switch (part) {
    case Part::node:
      return by_id(c.nodes);
    case Part::accelerator:
      return by_id(c.accelerators);
    case Part::scale_up_link:
      return scale_up_links(c);
    case Part::switch_part:
      return by_id(c.switches);
    case Part::nic:
      return by_id(c.nics);
    case Part::optic:
      return by_id(c.optics);
    case Part::storage_device:
      return by_id(c.storage_devices);
    case Part::storage_profile:
      return by_id(c.storage_profiles);
    case Part::region:
      return with_aliases(c.regions);
    case Part::cooling:
      return by_id(c.cooling_methods);
    case Part::redundancy:
      return by_id(c.redundancies);
    case Part::power_stage:
      return by_id(c.power_stages);
    case Part::lead_time:
      return by_id(c.lead_times);
    case Part::model:
      return with_aliases(c.models);
    case Part::none:
    case Part::climate:
    case Part::provider:
      break;
  }
  return {};
}

class Writer {
 public:
  explicit Writer(const catalog::Catalog& catalog)
      : catalog_(catalog), shape_(design_text::design_shape()) {}

  std::string run() {
    w_.begin_object().field("schema_version", 1).field("kind", "completions");
    w_.key("fields").begin_array();
    section(shape_.front(), "", 0);
    w_.end_array().end_object();
    return w_.text() + '\n';
  }

 private:
  const SectionShape* find(std::string_view name) const {
    const auto found = std::ranges::find(shape_, name, &SectionShape::name);
    return found == shape_.end() ? nullptr : &*found;
  }

  void section(const SectionShape& s, const std::string& prefix, int depth) {
    if (depth > kDeepest) return;
    for (const FieldShape& f : s.fields) field(f, prefix + f.key, depth);
  }

  void field(const FieldShape& f, const std::string& path, int depth) {
    w_.begin_object().field("path", path).field("description", description_of(f));
    w_.key("values").begin_array();
    values(f);
    w_.end_array().end_object();
    const std::string below = path + (f.is_list ? "[]." : ".");
    if (f.kind == ValueKind::section) {
      if (const SectionShape* s = find(f.section)) section(*s, below, depth + 1);
    } else if (f.kind == ValueKind::workload) {
      for (const char* kind : {"train", "serve", "jobs", "batch"}) {
        section(*find(kind), below + kind + '.', depth + 1);
      }
    }
  }

  // Returns a description such as "of one rack. 44 kW. Default: what the cooling method allows".
  static std::string description_of(const FieldShape& f) {
    std::string text(f.field.doc);
    if (!f.field.unit.empty()) text += ", in " + std::string(f.field.unit);
    if (!f.field.absent.empty()) {
      text += ". Default: " + std::string(f.field.absent);
    } else if (!f.default_text.empty() && !f.field.required) {
      text += ". Default: " + f.default_text;
    }
    return text;
  }

  void value(std::string_view text, std::string_view detail) {
    w_.begin_object().field("value", text).field("detail", detail).end_object();
  }

  void values(const FieldShape& f) {
    if (f.field.automatic) value("auto", "computed");
    if (f.kind == ValueKind::boolean) {
      for (const char* word : {"true", "false"}) {
        value(word, f.default_text == word ? "the default" : "");
      }
    }
    for (const std::string_view word : f.words) {
      value(word, f.default_text == word ? "the default" : "");
    }
    if (f.kind == ValueKind::workload) {
      value("train", "training of a model, from scratch or continued");
      value("serve", "a model that answers requests");
      value("jobs", "jobs that a group sends to the queue");
      value("batch", "batch work with a deadline");
    }
    if (f.kind == ValueKind::goal) {
      for (const design::GoalMetric& m : design::goal_metrics()) {
        value(m.name,
              m.unit.empty() ? std::string(m.doc) : fmt::format("{}, in {}", m.doc, m.unit));
      }
    }
    if (f.field.part == Part::none) return;
    const Details details = details_of(catalog_, f.field.part);
    for (const std::string& id : design::part_ids(catalog_, f.field.part)) {
      const auto found = details.find(id);
      value(id, found == details.end() ? std::string() : found->second);
    }
  }

  const catalog::Catalog& catalog_;
  std::vector<SectionShape> shape_;
  JsonWriter w_{0};
};

}  // namespace

std::string completions_json(const catalog::Catalog& catalog) { return Writer(catalog).run(); }

}  // namespace orrery::report
