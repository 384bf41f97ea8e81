#include "server/review_shelf.h"

#include <algorithm>

#include "design/write_design.h"
#include "plan/review.h"

namespace orrery::server {
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

plan::Verdict ReviewShelf::review(design::Design design) {
  return verdict_of(*stages(std::move(design)));
}

std::shared_ptr<const plan::Review> ReviewShelf::stages(design::Design design) {
  std::string key = machines_of(design);
  const auto kept = find(key);
  auto made =
      std::make_shared<const plan::Review>(run_stages(std::move(design), models_, kept.get()));
  if (!kept) keep({std::move(key), made});
  return made;
}

std::shared_ptr<const plan::Review> ReviewShelf::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(kept_, key, &Kept::key);
  if (it == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, it);
  return kept_.front().stages;
}

void ReviewShelf::keep(Kept kept) {
  const std::lock_guard lock(mutex_);
  kept_.push_front(std::move(kept));
  if (kept_.size() > kMost) kept_.pop_back();
}

}  // namespace orrery::server
