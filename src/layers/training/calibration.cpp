#include "layers/training/calibration.h"

#include <algorithm>
#include <utility>

#include "core/base/csv.h"
#include "core/base/text.h"

namespace orrery::training {
namespace {

constexpr std::string_view kFrameworkFile = "calibration/training_frameworks.csv";
constexpr std::string_view kAcceleratorFile = "calibration/training_accelerators.csv";
constexpr std::string_view kReleaseFile = "calibration/training_releases.csv";
constexpr std::string_view kSeenFile = "calibration/training_seen.csv";
constexpr std::string_view kWidthFile = "calibration/training_intervals.csv";
constexpr std::string_view kEraFile = "calibration/training_eras.csv";
constexpr std::string_view kDefaultFamily = "default";

using FrameworkMember = double FrameworkModel::*;
using StyleMember = double workload::KernelStyle::*;
using TuningMember = double AcceleratorTuning::*;

constexpr std::pair<std::string_view, FrameworkMember> kFrameworkMembers[] = {
    {"kernel_factor", &FrameworkModel::kernel_factor},
    {"eager_traffic", &FrameworkModel::eager_traffic},
    {"attention_factor", &FrameworkModel::attention_factor},
    {"grouped_16bit", &FrameworkModel::grouped_16bit},
    {"grouped_8bit", &FrameworkModel::grouped_8bit},
    {"overhead_factor", &FrameworkModel::overhead_factor},
    {"expert_host_s", &FrameworkModel::expert_host_s},
    {"graph_passes", &FrameworkModel::graph_passes},
    {"router_share", &FrameworkModel::router_share},
    {"overlap_host", &FrameworkModel::overlap_host},
    {"eager_kernels", &FrameworkModel::eager_kernels},
    {"tp_bulk_share", &FrameworkModel::tp_bulk_share},
    {"host_launch_s", &FrameworkModel::host_launch_s},
    {"step_overhead_s", &FrameworkModel::step_overhead_s},
    {"straggler", &FrameworkModel::straggler},
    {"tp_overlap", &FrameworkModel::tp_overlap},
    {"async_tp_overlap", &FrameworkModel::async_tp_overlap},
    {"cp_overlap", &FrameworkModel::cp_overlap},
    {"ep_overlap", &FrameworkModel::ep_overlap},
    {"ep_interleaved_overlap", &FrameworkModel::ep_interleaved_overlap},
    {"pp_overlap", &FrameworkModel::pp_overlap},
    {"dp_overlap", &FrameworkModel::dp_overlap},
    {"contention", &FrameworkModel::contention},
    {"weight_bytes", &FrameworkModel::weight_bytes},
    {"gradient_bytes", &FrameworkModel::gradient_bytes},
    {"optimizer_bytes", &FrameworkModel::optimizer_bytes},
    {"reduce_bytes", &FrameworkModel::reduce_bytes},
    {"gather_bytes", &FrameworkModel::gather_bytes},
    {"update_traffic", &FrameworkModel::update_traffic},
    {"accumulate_traffic", &FrameworkModel::accumulate_traffic},
    {"update_gradient_bytes", &FrameworkModel::update_gradient_bytes},
    {"logit_copies", &FrameworkModel::logit_copies},
    {"workspace_bytes", &FrameworkModel::workspace_bytes},
    {"memory_error", &FrameworkModel::memory_error},
    {"error", &FrameworkModel::error},
};
constexpr std::pair<std::string_view, StyleMember> kStyleMembers[] = {
    {"quantise_tensor", &workload::KernelStyle::quantise_tensor},
    {"quantise_row", &workload::KernelStyle::quantise_row},
    {"quantise_block", &workload::KernelStyle::quantise_block},
    {"quantise_mx", &workload::KernelStyle::quantise_mx},
    {"quantise_nv", &workload::KernelStyle::quantise_nv},
    {"pointwise_traffic", &workload::KernelStyle::pointwise_traffic},
    {"permute_traffic", &workload::KernelStyle::permute_traffic},
    {"scan_traffic", &workload::KernelStyle::scan_traffic},
    {"loss_bytes", &workload::KernelStyle::loss_bytes},
};
constexpr std::pair<std::string_view, TuningMember> kTuningMembers[] = {
    {"matrix", &AcceleratorTuning::matrix},
    {"matrix_8bit", &AcceleratorTuning::matrix_8bit},
    {"matrix_4bit", &AcceleratorTuning::matrix_4bit},
    {"attention", &AcceleratorTuning::attention},
    {"passes", &AcceleratorTuning::passes},
    {"pass_energy", &AcceleratorTuning::pass_energy},
    {"scaleup", &AcceleratorTuning::scaleup},
    {"network", &AcceleratorTuning::network},
    {"error", &AcceleratorTuning::error},
};

// Switches are written as 0 and 1.
bool set_switch(FrameworkModel& f, std::string_view name, double value) {
  const bool on = value != 0;
  if (name == "fused_attention") return f.style.fused_attention = on, true;
  if (name == "fused_pointwise") return f.style.fused_pointwise = on, true;
  if (name == "dropout") return f.style.dropout = on, true;
  if (name == "flash2") return f.flash2 = on, true;
  if (name == "early_stop") return f.early_stop = on, true;
  if (name == "cp_in_order") return f.cp_in_order = on, true;
  if (name == "reduces_whole") return f.reduces_whole = on, true;
  if (name == "trains_mtp") return f.trains_mtp = on, true;
  if (name == "lazy_gradients") return f.lazy_gradients = on, true;
  if (name == "selective_core" && on) return f.selective = Selective::attention_core, true;
  if (name == "selective_passes" && on) return f.selective = Selective::passes, true;
  if (name == "selective_alternate" && on) return f.selective = Selective::alternate_products, true;
  return false;
}

Diagnostic bad_row(const CsvTable& table, const CsvRow& row, std::string what) {
  return {.severity = Severity::error,
          .code = "calibration.row",
          .place = {.file = table.file(), .line = row.line, .column = 0},
          .what = std::move(what),
          .why = "a row needs a subject, one of its parameters and a number",
          .fix = ""};
}

template <class T>
T& entry(std::vector<T>& all, std::string_view id, const T& start) {
  const auto at = std::ranges::find(all, id, &T::id);
  if (at != all.end()) return *at;
  all.push_back(start);
  all.back().id = std::string(id);
  return all.back();
}

void read_frameworks(const CsvTable& t, TrainingCalibration& into, Diagnostics& faults) {
  for (const CsvRow& row : t.rows()) {
    const auto value = t.number(row, "value");
    const std::string_view id = t.text(row, "framework");
    const std::string_view name = t.text(row, "parameter");
    // Families come after "default" in the file and start from its values.
    const FrameworkModel start = into.frameworks.empty() ? FrameworkModel{} : into.frameworks[0];
    FrameworkModel& f = entry(into.frameworks, id, start);
    if (!value) {
      faults.push_back(bad_row(t, row, "no value"));
    } else if (ParameterField field = framework_field(f, name)) {
      *field = *value;
    } else if (!set_switch(f, name, *value)) {
      faults.push_back(bad_row(t, row, "no such parameter of a framework"));
    }
  }
}

void read_accelerators(const CsvTable& t, TrainingCalibration& into, Diagnostics& faults) {
  for (const CsvRow& row : t.rows()) {
    const auto value = t.number(row, "value");
    const AcceleratorTuning start =
        into.accelerators.empty() ? AcceleratorTuning{} : into.accelerators[0];
    AcceleratorTuning& a = entry(into.accelerators, t.text(row, "accelerator"), start);
    ParameterField field = accelerator_field(a, t.text(row, "parameter"));
    if (!value || field == nullptr) {
      faults.push_back(bad_row(t, row, "no value, or no such parameter of an accelerator"));
    } else {
      *field = *value;
    }
  }
}

void read_releases(const CsvTable& t, TrainingCalibration& into, Diagnostics& faults) {
  for (const CsvRow& row : t.rows()) {
    const auto value = t.number(row, "factor");
    if (!value) {
      faults.push_back(bad_row(t, row, "no factor"));
      continue;
    }
    into.releases.push_back(
        {std::string(t.text(row, "framework")), std::string(t.text(row, "release")), *value});
  }
}

void read_seen(const CsvTable& t, TrainingCalibration& into, Diagnostics& faults) {
  for (const CsvRow& row : t.rows()) {
    const auto kind = from_word<Unseen>(t.text(row, "subject"));
    if (!kind) faults.push_back(bad_row(t, row, "no such subject"));
    if (kind) into.seen.push_back({*kind, std::string(t.text(row, "id"))});
  }
}

void read_widths(const CsvTable& t, TrainingCalibration& into, Diagnostics& faults) {
  for (const CsvRow& row : t.rows()) {
    const auto of = from_word<Unseen>(t.text(row, "unseen"));
    const auto width = t.number(row, "width");
    if (!of || !width) {
      faults.push_back(bad_row(t, row, "no such subject, or no width"));
      continue;
    }
    into.widths.push_back({*of, t.text(row, "class") == "moe", *width});
  }
}

void read_eras(const CsvTable& t, TrainingCalibration& into, Diagnostics& faults) {
  for (const CsvRow& row : t.rows()) {
    const auto until = t.integer(row, "until");
    if (!until) faults.push_back(bad_row(t, row, "no year"));
    if (!until) continue;
    into.eras.push_back({.framework = std::string(t.text(row, "framework")),
                         .until = static_cast<int>(*until),
                         .gpus = static_cast<int>(t.integer(row, "gpus").value_or(0)),
                         .release = std::string(t.text(row, "release")),
                         .successor = std::string(t.text(row, "successor"))});
  }
}

// Converts "26.04.01" to months: year, month, and hundredths for the patch.
double version_number(std::string_view release) {
  constexpr double kNewest = 1e4;
  double months = 0;
  double unit = 12;
  for (std::size_t at = 0; at <= release.size() && unit > 1e-3;) {
    const std::size_t end = std::min(release.find('.', at), release.size());
    const auto part = parse_number(release.substr(at, end - at));
    if (!part) return kNewest;
    months += unit * *part;
    unit = unit > 1 ? 1 : 0.01 * unit;
    at = end + 1;
  }
  return months;
}

}  // namespace

ParameterField framework_field(FrameworkModel& f, std::string_view parameter) {
  for (const auto& [name, member] : kFrameworkMembers) {
    if (name == parameter) return &(f.*member);
  }
  for (const auto& [name, member] : kStyleMembers) {
    if (name == parameter) return &(f.style.*member);
  }
  return nullptr;
}

ParameterField accelerator_field(AcceleratorTuning& a, std::string_view parameter) {
  for (const auto& [name, member] : kTuningMembers) {
    if (name == parameter) return &(a.*member);
  }
  return nullptr;
}

FrameworkModel TrainingCalibration::framework(std::string_view id, std::string_view release) const {
  const auto at = std::ranges::find(frameworks, id, &FrameworkModel::id);
  FrameworkModel f = at != frameworks.end() ? *at : frameworks.front();
  f.overhead_factor *= release_factor(id, release);
  return f;
}

bool TrainingCalibration::knows_framework(std::string_view id) const {
  return std::ranges::find(frameworks, id, &FrameworkModel::id) != frameworks.end();
}

AcceleratorTuning TrainingCalibration::accelerator(std::string_view id) const {
  const auto at = std::ranges::find(accelerators, id, &AcceleratorTuning::id);
  if (at != accelerators.end()) return *at;
  return accelerators.empty() ? AcceleratorTuning{} : accelerators.front();
}

double TrainingCalibration::release_factor(std::string_view framework,
                                           std::string_view release) const {
  for (const ReleaseFactor& r : releases) {
    if (r.framework == framework && r.release == release) return r.factor;
  }
  return nearest_factor(releases, framework, release);
}

double nearest_factor(const std::vector<ReleaseFactor>& releases, std::string_view framework,
                      std::string_view release,
                      const std::function<bool(const ReleaseFactor&)>& use) {
  const double asked = version_number(release);
  const ReleaseFactor* nearest = nullptr;
  const auto distance = [&](const ReleaseFactor& r) {
    return std::abs(version_number(r.release) - asked);
  };
  for (const ReleaseFactor& r : releases) {
    if (r.framework != framework || (use && !use(r))) continue;
    if (nearest == nullptr || distance(r) < distance(*nearest)) nearest = &r;
  }
  return nearest != nullptr ? nearest->factor : 1;
}

bool TrainingCalibration::saw(Unseen kind, std::string_view id) const {
  return std::ranges::any_of(seen,
                             [&](const SeenThing& s) { return s.kind == kind && s.id == id; });
}

double TrainingCalibration::unseen_width(Unseen of, bool experts) const {
  for (const UnseenWidth& w : widths) {
    if (w.of == of && w.experts == experts) return w.width;
  }
  return 0;
}

std::string_view TrainingCalibration::family_on(std::string_view framework,
                                                std::string_view release, int launch_year,
                                                int gpus) const {
  const double version = version_number(release);
  // Each row is used at most once, so that rows which name each other cannot loop.
  for (std::size_t used = 0; used < eras.size(); ++used) {
    const auto past = std::ranges::find_if(eras, [&](const FamilyEra& e) {
      return e.framework == framework &&
             (e.release.empty() || version <= version_number(e.release)) &&
             (launch_year > e.until || (e.gpus > 0 && gpus > e.gpus));
    });
    if (past == eras.end()) break;
    framework = past->successor;
  }
  return framework;
}

Result<TrainingCalibration> read_training_calibration(const catalog::Knowledge& knowledge) {
  TrainingCalibration all;
  Diagnostics faults;
  const auto table = [&](std::string_view path, auto reader) {
    const auto parsed = knowledge.table(path);
    if (!parsed) {
      return faults.insert(faults.end(), parsed.error().begin(), parsed.error().end()), void();
    }
    reader(*parsed, all, faults);
  };
  table(kFrameworkFile, read_frameworks);
  table(kAcceleratorFile, read_accelerators);
  table(kReleaseFile, read_releases);
  table(kSeenFile, read_seen);
  table(kWidthFile, read_widths);
  table(kEraFile, read_eras);
  if (all.frameworks.empty() || all.frameworks.front().id != kDefaultFamily) {
    faults.push_back({.severity = Severity::error,
                      .code = "calibration.default",
                      .place = {.file = std::string(kFrameworkFile), .line = 0, .column = 0},
                      .what = "the first framework must be \"default\"",
                      .why = "every other family starts from it",
                      .fix = ""});
  }
  if (has_errors(faults)) return std::unexpected(std::move(faults));
  return all;
}

}  // namespace orrery::training
