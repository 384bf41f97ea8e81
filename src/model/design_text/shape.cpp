#include "model/design_text/shape.h"

#include <algorithm>

#include "model/design/fields_design.h"
#include "model/design/goals.h"
#include "model/design/names.h"
#include "model/design_text/write_value.h"

namespace orrery::design_text {
namespace {

std::string_view name_of(const design::Site&) { return "site"; }
std::string_view name_of(const design::Fleet&) { return "fleet entry"; }
std::string_view name_of(const design::CustomNode&) { return "custom node"; }
std::string_view name_of(const design::Rent&) { return "rent"; }
std::string_view name_of(const design::Failures&) { return "failures"; }
std::string_view name_of(const design::Networks&) { return "fabric"; }
std::string_view name_of(const design::Network&) { return "network"; }
std::string_view name_of(const design::WanLink&) { return "wan link"; }
std::string_view name_of(const design::RoceChecklist&) { return "roce checklist"; }
std::string_view name_of(const design::StorageTier&) { return "storage tier"; }
std::string_view name_of(const design::Protection&) { return "protection"; }
std::string_view name_of(const design::Metadata&) { return "metadata"; }
std::string_view name_of(const design::Scheduler&) { return "scheduler"; }
std::string_view name_of(const design::Quota&) { return "quota"; }
std::string_view name_of(const design::SchedulerPartition&) { return "partition"; }
std::string_view name_of(const design::Qos&) { return "QOS"; }
std::string_view name_of(const design::Reservation&) { return "reservation"; }
std::string_view name_of(const design::Recovery&) { return "recovery"; }
std::string_view name_of(const design::PlainNetwork&) { return "plain network"; }
std::string_view name_of(const design::Layout&) { return "layout"; }
std::string_view name_of(const design::Dataset&) { return "dataset"; }
std::string_view name_of(const design::Checkpoint&) { return "checkpoint"; }
std::string_view name_of(const design::Lora&) { return "lora"; }
std::string_view name_of(const design::Embeddings&) { return "embeddings"; }
std::string_view name_of(const design::FeatureStream&) { return "feature stream"; }
std::string_view name_of(const design::Recurrence&) { return "repeat"; }
std::string_view name_of(const design::Inference&) { return "inference"; }
std::string_view name_of(const design::CleanHours&) { return "clean_hours"; }
std::string_view name_of(const design::Arrivals&) { return "arrivals"; }
std::string_view name_of(const design::Objective&) { return "objective"; }
std::string_view name_of(const design::Autoscale&) { return "autoscale"; }
std::string_view name_of(const design::KvTier&) { return "kv_tier"; }
std::string_view name_of(const design::AgentLoop&) { return "agent"; }
std::string_view name_of(const design::Adapters&) { return "adapters"; }
std::string_view name_of(const design::Retrieval&) { return "retrieval"; }
std::string_view name_of(const design::Escalation&) { return "escalate"; }
std::string_view name_of(const design::Zone&) { return "zone"; }
std::string_view name_of(const design::Pipeline&) { return "pipeline"; }
std::string_view name_of(const design::Stage&) { return "stage"; }
std::string_view name_of(const design::Economics&) { return "economics"; }

class ShapeMaker {
 public:
  explicit ShapeMaker(std::vector<SectionShape>& all) : all_(all) {}

  template <class T>
  void section(std::string_view name, const T& plain) {
    begin(name);
    design::visit_fields(*this, plain);
    end();
  }
  // The terms and the task of a workload share one section, named by its kind.
  template <class T>
  void workload(const T& task) {
    begin(design::kind_of(design::Workload{.terms = {}, .task = task}));
    const design::Terms terms;
    design::visit_fields(*this, terms);
    design::visit_fields(*this, task);
    end();
  }

  template <class T>
  void operator()(std::string_view key, const T& member, const design::Field& field) {
    FieldShape shape{.key = std::string(key), .field = field};
    describe(member, field, shape);
    all_[current_].fields.push_back(std::move(shape));
  }
  void sites(const std::vector<design::Site>& all) {
    (*this)("site", design::Site{}, design::kSiteField);
    (*this)("sites", all, design::kSitesField);
  }

 private:
  void begin(std::string_view name) {
    open_.push_back(current_);
    current_ = all_.size();
    all_.push_back({.name = std::string(name), .fields = {}});
  }
  void end() {
    current_ = open_.back();
    open_.pop_back();
  }

  template <int... E>
  void describe(const Quantity<E...>& q, const design::Field& f, FieldShape& s) {
    s.kind = ValueKind::quantity;
    s.dimension = {E...};
    s.default_text = quantity_text(q.base(), s.dimension, f);
  }
  void describe(double v, const design::Field& f, FieldShape& s) {
    s.kind = !f.unit.empty()             ? ValueKind::degrees
             : design::is_share(f.range) ? ValueKind::share
                                         : ValueKind::number;
    s.default_text = number_text(v, f);
  }
  void describe(int v, const design::Field&, FieldShape& s) {
    s.kind = ValueKind::integer;
    s.default_text = std::to_string(v);
  }
  void describe(bool v, const design::Field&, FieldShape& s) {
    s.kind = ValueKind::boolean;
    s.default_text = v ? "true" : "false";
  }
  void describe(const std::string& v, const design::Field&, FieldShape& s) { s.default_text = v; }
  template <class T>
    requires std::is_enum_v<T>
  void describe(T v, const design::Field&, FieldShape& s) {
    s.kind = ValueKind::word;
    s.words = word_list<T>();
    s.default_text = word_of(v);
  }
  template <class T>
  void describe(const std::optional<T>&, const design::Field& f, FieldShape& s) {
    describe(T{}, f, s);
    s.is_optional = true;
    s.default_text.clear();
  }
  void describe(const std::vector<design::MigSlices>&, const design::Field&, FieldShape& s) {
    s.kind = ValueKind::slices;
  }
  void describe(const std::vector<design::KeepRule>&, const design::Field&, FieldShape& s) {
    s.kind = ValueKind::keep_rules;
  }
  template <class T>
  void describe(const std::vector<T>& all, const design::Field& f, FieldShape& s) {
    std::string items;
    for (const T& item : all) {
      describe(item, f, s);
      items += (items.empty() ? "" : ", ") + s.default_text;
    }
    if (all.empty()) describe(T{}, f, s);
    s.is_list = true;
    s.default_text = all.empty() ? "" : '[' + items + ']';
  }
  void describe(const design::Goal&, const design::Field&, FieldShape& s) {
    s.kind = ValueKind::goal;
  }
  void describe(const design::Workload&, const design::Field&, FieldShape& s) {
    s.kind = ValueKind::workload;
    workload(design::Train{});
    workload(design::Serve{});
    workload(design::Jobs{});
    workload(design::Batch{});
  }
  template <class T>
    requires requires(const T& t) { name_of(t); }
  void describe(const T& plain, const design::Field&, FieldShape& s) {
    s.kind = ValueKind::section;
    s.section = name_of(plain);
    if (std::ranges::find(all_, s.section, &SectionShape::name) == all_.end()) {
      section(s.section, T{});
    }
  }

  std::vector<SectionShape>& all_;
  std::size_t current_ = 0;
  std::vector<std::size_t> open_;
};

}  // namespace

std::vector<SectionShape> design_shape() {
  std::vector<SectionShape> all;
  ShapeMaker(all).section("design", design::Design{});
  return all;
}

}  // namespace orrery::design_text
