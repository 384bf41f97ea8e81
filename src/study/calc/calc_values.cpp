#include "study/calc/calc_values.h"

#include <algorithm>
#include <cmath>

namespace orrery::calc {
namespace {

// Most accelerators, nodes or ranks: no machine is larger, and sums of products stay whole numbers.
constexpr double kMostWhole = 10'000'000;

}  // namespace

const std::string& CalcValues::word(std::string_view name) const {
  static const std::string kNone;
  const auto found = texts_.find(name);
  return found == texts_.end() ? kNone : found->second;
}

void CalcValues::complain(std::string_view name, const std::string& wanted) {
  faults_.push_back({.code = "usage.value",
                     .what = "--" + std::string(name) + " is '" + word(name) + "'",
                     .why = "expected " + wanted});
}

template <class T>
void CalcValues::unknown(std::string_view name, const std::string& table,
                         const std::vector<T>& rows) {
  std::vector<std::string> known;
  for (const T& r : rows) known.push_back(r.id);
  const auto close = nearest(word(name), known);
  faults_.push_back({.code = "usage.part",
                     .what = "--" + std::string(name) + " names '" + word(name) +
                             "', which the catalog does not have",
                     .fix = close ? "did you mean '" + *close + "'?"
                                  : "`orrery catalog " + table + "` lists them"});
}

bool CalcValues::flag(std::string_view name) {
  if (!given(name) || word(name) == "false") return false;
  if (word(name) != "true") complain(name, "true or false");
  return true;
}

double CalcValues::count(std::string_view name) {
  const auto n = parse_count(word(name));
  if (n && *n > 0) return *n;
  complain(name, "a number above zero, such as 1024, 70B or 2T");
  return 1;
}

int CalcValues::whole(std::string_view name) {
  const double n = count(name);
  if (n <= kMostWhole && n == std::floor(n)) return static_cast<int>(n);
  complain(name, "a whole number of at most ten million");
  return 1;
}

double CalcValues::share(std::string_view name) {
  const auto n = parse_number(word(name));
  if (n && *n >= 0 && *n <= 1) return *n;
  complain(name, "a share from 0 to 1");
  return 1;
}

void CalcValues::check_choice(const CalcParameter& p) {
  if (std::ranges::find(p.choices, word(p.name)) != p.choices.end()) return;
  std::string all;
  for (const std::string_view c : p.choices) all += (all.empty() ? "" : ", ") + std::string(c);
  complain(p.name, "one of " + all);
}

const catalog::ModelShape* CalcValues::model(std::string_view name) {
  const catalog::ModelShape* m = catalog_.model(word(name));
  if (m == nullptr) unknown(name, "models", catalog_.models);
  return m;
}

const catalog::Accelerator* CalcValues::accelerator(std::string_view name) {
  const catalog::Accelerator* a = catalog_.accelerator(word(name));
  if (a == nullptr) unknown(name, "accelerators", catalog_.accelerators);
  return a;
}

const catalog::Node* CalcValues::node(std::string_view name) {
  const catalog::Node* n = catalog_.node(word(name));
  if (n == nullptr) unknown(name, "nodes", catalog_.nodes);
  return n;
}

const catalog::CoolingMethod* CalcValues::cooling(std::string_view name) {
  const catalog::CoolingMethod* c = catalog_.cooling(word(name));
  if (c == nullptr) unknown(name, "cooling_methods", catalog_.cooling_methods);
  return c;
}

const catalog::EmergingPart* CalcValues::memory_pool(std::string_view name) {
  if (!given(name)) return nullptr;
  const catalog::EmergingPart* p = catalog_.emerging_part(word(name));
  if (p == nullptr) {
    unknown(name, "emerging", catalog_.emerging);
  } else if (p->kind != catalog::kMemoryPool || !p->rate || !p->latency) {
    complain(name, "a memory pool with a rate and a latency, such as cxl-2-x16");
    return nullptr;
  }
  return p;
}

const catalog::MigProfile* CalcValues::slice(std::string_view name,
                                             const catalog::Accelerator* accelerator) {
  if (!given(name) || accelerator == nullptr) return nullptr;
  std::string offered;
  for (const catalog::MigProfile& p : catalog_.mig_profiles) {
    if (p.accelerator_id != accelerator->id) continue;
    if (p.profile == word(name) || p.id == word(name)) return &p;
    offered += (offered.empty() ? "" : ", ") + p.profile;
  }
  complain(name, offered.empty() ? "no value: " + accelerator->id + " has no slices"
                                 : "one of " + accelerator->id + "'s: " + offered);
  return nullptr;
}

}  // namespace orrery::calc
