#include "model/design/shape.h"

#include <algorithm>

#include "model/design/fields_design.h"
#include "model/design/goals.h"
#include "model/design/names.h"
#include "model/design/write_value.h"

namespace orrery::design {
namespace {

std::string_view name_of(const Site&) { return "site"; }
std::string_view name_of(const Fleet&) { return "fleet entry"; }
std::string_view name_of(const CustomNode&) { return "custom node"; }
std::string_view name_of(const Rent&) { return "rent"; }
std::string_view name_of(const Failures&) { return "failures"; }
std::string_view name_of(const Networks&) { return "fabric"; }
std::string_view name_of(const Network&) { return "network"; }
std::string_view name_of(const WanLink&) { return "wan link"; }
std::string_view name_of(const RoceChecklist&) { return "roce checklist"; }
std::string_view name_of(const StorageTier&) { return "storage tier"; }
std::string_view name_of(const Protection&) { return "protection"; }
std::string_view name_of(const Metadata&) { return "metadata"; }
std::string_view name_of(const Scheduler&) { return "scheduler"; }
std::string_view name_of(const Quota&) { return "quota"; }
std::string_view name_of(const SchedulerPartition&) { return "partition"; }
std::string_view name_of(const Qos&) { return "QOS"; }
std::string_view name_of(const Reservation&) { return "reservation"; }
std::string_view name_of(const Recovery&) { return "recovery"; }
std::string_view name_of(const PlainNetwork&) { return "plain network"; }
std::string_view name_of(const Layout&) { return "layout"; }
std::string_view name_of(const Dataset&) { return "dataset"; }
std::string_view name_of(const Checkpoint&) { return "checkpoint"; }
std::string_view name_of(const Lora&) { return "lora"; }
std::string_view name_of(const Embeddings&) { return "embeddings"; }
std::string_view name_of(const FeatureStream&) { return "feature stream"; }
std::string_view name_of(const Recurrence&) { return "repeat"; }
std::string_view name_of(const Inference&) { return "inference"; }
std::string_view name_of(const CleanHours&) { return "clean_hours"; }
std::string_view name_of(const Arrivals&) { return "arrivals"; }
std::string_view name_of(const Objective&) { return "objective"; }
std::string_view name_of(const Autoscale&) { return "autoscale"; }
std::string_view name_of(const KvTier&) { return "kv_tier"; }
std::string_view name_of(const AgentLoop&) { return "agent"; }
std::string_view name_of(const Adapters&) { return "adapters"; }
std::string_view name_of(const Retrieval&) { return "retrieval"; }
std::string_view name_of(const Escalation&) { return "escalate"; }
std::string_view name_of(const Zone&) { return "zone"; }
std::string_view name_of(const Pipeline&) { return "pipeline"; }
std::string_view name_of(const Stage&) { return "stage"; }
std::string_view name_of(const Economics&) { return "economics"; }

class ShapeMaker {
 public:
  explicit ShapeMaker(std::vector<SectionShape>& all) : all_(all) {}

  template <class T>
  void section(std::string_view name, const T& plain) {
    begin(name);
    visit_fields(*this, plain);
    end();
  }
  // Terms and task of a workload share one section, named by its kind.
  template <class T>
  void workload(const T& task) {
    begin(kind_of(Workload{.terms = {}, .task = task}));
    const Terms terms;
    visit_fields(*this, terms);
    visit_fields(*this, task);
    end();
  }

  template <class T>
  void operator()(std::string_view key, const T& member, const Field& field) {
    FieldShape shape{.key = std::string(key), .field = field};
    describe(member, field, shape);
    all_[current_].fields.push_back(std::move(shape));
  }
  void sites(const std::vector<Site>& all) {
    (*this)("site", Site{}, kSiteField);
    (*this)("sites", all, kSitesField);
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
  void describe(const Quantity<E...>& q, const Field& f, FieldShape& s) {
    s.kind = ValueKind::quantity;
    s.dimension = {E...};
    s.default_text = quantity_text(q.base(), s.dimension, f);
  }
  void describe(double v, const Field& f, FieldShape& s) {
    s.kind = !f.unit.empty()     ? ValueKind::degrees
             : is_share(f.range) ? ValueKind::share
                                 : ValueKind::number;
    s.default_text = number_text(v, f);
  }
  void describe(int v, const Field&, FieldShape& s) {
    s.kind = ValueKind::integer;
    s.default_text = std::to_string(v);
  }
  void describe(bool v, const Field&, FieldShape& s) {
    s.kind = ValueKind::boolean;
    s.default_text = v ? "true" : "false";
  }
  void describe(const std::string& v, const Field&, FieldShape& s) { s.default_text = v; }
  template <class T>
    requires std::is_enum_v<T>
  void describe(T v, const Field&, FieldShape& s) {
    s.kind = ValueKind::word;
    s.words = word_list<T>();
    s.default_text = word_of(v);
  }
  template <class T>
  void describe(const std::optional<T>&, const Field& f, FieldShape& s) {
    describe(T{}, f, s);
    s.is_optional = true;
    s.default_text.clear();
  }
  void describe(const std::vector<MigSlices>&, const Field&, FieldShape& s) {
    s.kind = ValueKind::slices;
  }
  void describe(const std::vector<KeepRule>&, const Field&, FieldShape& s) {
    s.kind = ValueKind::keep_rules;
  }
  template <class T>
  void describe(const std::vector<T>& all, const Field& f, FieldShape& s) {
    std::string items;
    for (const T& item : all) {
      describe(item, f, s);
      items += (items.empty() ? "" : ", ") + s.default_text;
    }
    if (all.empty()) describe(T{}, f, s);
    s.is_list = true;
    s.default_text = all.empty() ? "" : '[' + items + ']';
  }
  void describe(const Goal&, const Field&, FieldShape& s) { s.kind = ValueKind::goal; }
  void describe(const Workload&, const Field&, FieldShape& s) {
    s.kind = ValueKind::workload;
    workload(Train{});
    workload(Serve{});
    workload(Jobs{});
    workload(Batch{});
  }
  template <class T>
    requires requires(const T& t) { name_of(t); }
  void describe(const T& plain, const Field&, FieldShape& s) {
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
  ShapeMaker(all).section("design", Design{});
  return all;
}

}  // namespace orrery::design
