#include "app/server/review_shelf.h"

#include <algorithm>
#include <utility>

#include "plan/verdict/verdict.h"

namespace orrery::server {
namespace {

// Returns what the kept parts depend on: the design without the fields that are blanked here.
// Positions in the source do not matter and would be the most expensive part to copy.
design::Design machines_of(design::Design& design) {
  design::PlaceMap places = std::exchange(design.places, {});
  design::Design machines = design;
  design.places = std::move(places);
  machines.name.clear();
  machines.version.clear();
  machines.description.clear();
  machines.file.clear();
  machines.economics = {};
  machines.goals.clear();
  return machines;
}

}  // namespace

verdict::Verdict ReviewShelf::review(design::Design design) {
  return verdict::verdict_of(*stages(std::move(design)));
}

std::shared_ptr<const review::Review> ReviewShelf::stages(design::Design design) {
  if (!design.local_models.empty() || !design.local_hours.empty()) {
    return std::make_shared<const review::Review>(review::run_stages(std::move(design), models_));
  }
  design::Design machines = machines_of(design);
  const auto kept = find(machines);
  auto made =
      std::make_shared<const review::Review>(run_stages(std::move(design), models_, kept.get()));
  if (!kept) keep({std::move(machines), made});
  return made;
}

std::shared_ptr<const review::Review> ReviewShelf::find(const design::Design& machines) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(kept_, machines, &Kept::machines);
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
