#include "server/review_shelf.h"

#include <algorithm>

#include "design/write_design.h"
#include "plan/review.h"

namespace orrery {
namespace {

// What the kept parts depend on: all of the design but the fields that are blanked here.
std::string machines_of(design::Design design) {
  design.name = "machines";
  design.version.clear();
  design.description.clear();
  design.economics = {};
  design.goals.clear();
  return design::write_design(design);
}

}  // namespace

struct ReviewShelf::Kept {
  Kept(std::string k, design::Design d, const Catalog& catalog, const Models& models)
      : key(std::move(k)), design(std::move(d)), stages(run_stages(design, catalog, models)) {}

  std::string key;
  design::Design design;
  Review stages;
};

Verdict ReviewShelf::review(design::Design design) {
  std::string key = machines_of(design);
  if (const auto kept = find(key)) {
    return verdict_of(run_stages(design, catalog_, models_, &kept->stages), models_);
  }
  auto made = std::make_shared<const Kept>(std::move(key), std::move(design), catalog_, models_);
  Verdict verdict = verdict_of(made->stages, models_);
  keep(std::move(made));
  return verdict;
}

std::shared_ptr<const ReviewShelf::Kept> ReviewShelf::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(kept_, key, [](const auto& kept) { return kept->key; });
  if (it == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, it);
  return kept_.front();
}

void ReviewShelf::keep(std::shared_ptr<const Kept> kept) {
  const std::lock_guard lock(mutex_);
  kept_.push_front(std::move(kept));
  if (kept_.size() > kMost) kept_.pop_back();
}

}  // namespace orrery
