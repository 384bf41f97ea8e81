#include "study/rehearse/simulated_places.h"

#include <algorithm>
#include <utility>

namespace orrery::rehearse {
namespace {

std::unexpected<Diagnostics> declined(std::string what) {
  return fail({.code = "lifecycle.refused", .what = std::move(what)});
}

bool take(int& pending) {
  if (pending <= 0) return false;
  --pending;
  return true;
}

std::string text_of(int stamp) { return std::to_string(stamp); }

}  // namespace

SimulatedPlaces::SimulatedPlaces(std::vector<std::string> places) : names_(std::move(places)) {
  for (const std::string& name : names_) places_[name];
}

void SimulatedPlaces::begin(const std::string& place, const std::string& id,
                            const SimulatedItem& item) {
  SimulatedItem& known = items_[id] = item;
  known.content = ++contents_;
  places_[place][id] = {.content = known.content, .stamp = ++stamps_, .written = now_};
}

void SimulatedPlaces::finish(const std::string& place, const std::string& id) {
  const auto copy = places_[place].find(id);
  if (copy == places_[place].end()) return;
  copy->second.complete = true;
  copy->second.stamp = ++stamps_;
  copy->second.written = now_;
}

void SimulatedPlaces::rewrite(const std::string& place, const std::string& id) {
  items_.at(id).content = ++contents_;
  places_[place][id] = {
      .content = contents_, .complete = true, .stamp = ++stamps_, .written = now_};
}

void SimulatedPlaces::rot(const std::string& place, const std::string& id) {
  const auto copy = places_[place].find(id);
  if (copy != places_[place].end()) copy->second.content = ++contents_;
}

void SimulatedPlaces::remove_by_other(const std::string& place, const std::string& id) {
  places_[place].erase(id);
}

void SimulatedPlaces::set_away(const std::string& place, bool away) {
  if (away) {
    away_.insert(place);
  } else {
    away_.erase(place);
  }
}

void SimulatedPlaces::hide(const std::string& place, const std::string& id, bool hidden) {
  if (hidden) {
    hidden_.emplace(place, id);
  } else {
    hidden_.erase({place, id});
  }
}

bool SimulatedPlaces::is_calm() const {
  return to_fail_ + answers_to_lose_ + to_tear_ + to_spoil_ == 0 && away_.empty() &&
         hidden_.empty();
}

Result<storage::LifecycleLook> SimulatedPlaces::look() {
  point();
  storage::LifecycleLook look{.now = now_, .away = {away_.begin(), away_.end()}};
  for (const auto& [id, item] : items_) {
    storage::ItemView view{.id = id,
                           .run = item.run,
                           .step = item.step,
                           .made = item.made,
                           .milestone = item.milestone,
                           .held = item.held};
    for (const std::string& place : names_) {
      const SimulatedCopy* copy = copy_at(place, id);
      if (!copy || away_.contains(place) || hidden_.contains({place, id})) continue;
      view.copies.push_back({.place = place,
                             .size = item.size,
                             .complete = copy->complete,
                             .stamp = text_of(copy->stamp),
                             .written = copy->written});
    }
    if (!view.copies.empty()) look.items.push_back(std::move(view));
  }
  look.clock = {.boot = text_of(boots_), .up = up_};
  for (const auto& [key, aside] : aside_) {
    if (away_.contains(key.first)) continue;
    const SimulatedItem& item = items_.at(aside.item);
    look.aside.push_back({.place = key.first,
                          .name = key.second,
                          .item = {.id = aside.item,
                                   .run = item.run,
                                   .step = item.step,
                                   .made = item.made,
                                   .milestone = item.milestone,
                                   .held = item.held},
                          .stamp = text_of(aside.copy.stamp),
                          .size = item.size});
  }
  return look;
}

Result<storage::LifecycleOutcome> SimulatedPlaces::act(const storage::LifecycleAction& action) {
  point();
  if (take(to_fail_)) return declined("injected");
  const bool is_out = away_.contains(action.place) || away_.contains(action.from);
  if (is_out || !has_needs(action)) return declined("a place or a copy that it needs is missing");
  auto done = action.kind == storage::LifecycleActionKind::verify  ? verify(action)
              : action.kind == storage::LifecycleActionKind::copy  ? copy(action)
              : action.kind == storage::LifecycleActionKind::purge ? purge(action)
                                                                   : remove(action);
  point();
  if (done && take(answers_to_lose_)) return declined("the answer was lost");
  return done;
}

bool SimulatedPlaces::has_needs(const storage::LifecycleAction& action) const {
  return std::ranges::all_of(action.needs, [&](const storage::CopyNeed& need) {
    const SimulatedCopy* copy = copy_at(need.place, need.item);
    return copy && copy->complete && text_of(copy->stamp) == need.stamp &&
           !away_.contains(need.place);
  });
}

Result<storage::LifecycleOutcome> SimulatedPlaces::verify(const storage::LifecycleAction& action) {
  const SimulatedCopy* copy = copy_at(action.place, action.item);
  if (!copy || !copy->complete) return declined("there is no complete copy");
  return storage::LifecycleOutcome{
      .good = true, .stamp = text_of(copy->stamp), .digest = std::to_string(copy->content)};
}

Result<storage::LifecycleOutcome> SimulatedPlaces::copy(const storage::LifecycleAction& action) {
  const SimulatedCopy source = *copy_at(action.from, action.item);
  SimulatedCopy& made = places_[action.place][action.item];
  if (made.complete && made.content != source.content && is_good_at(action.place, action.item)) {
    return declined("a good copy exists already");
  }
  if (made.complete && !action.aside.empty()) {
    if (text_of(made.stamp) != action.replaces) return declined("the copy has changed");
    set_aside(action, made);
    made = {};
    point();
  }
  made = {.content = take(to_spoil_) ? ++contents_ : source.content,
          .stamp = ++stamps_,
          .written = now_};
  point();
  if (take(to_tear_)) return declined("cut short");
  made.complete = true;
  made.stamp = ++stamps_;
  return storage::LifecycleOutcome{.good = true, .stamp = text_of(made.stamp)};
}

Result<storage::LifecycleOutcome> SimulatedPlaces::remove(const storage::LifecycleAction& action) {
  const SimulatedCopy* copy = copy_at(action.place, action.item);
  if (!copy) return storage::LifecycleOutcome{.good = true};
  if (text_of(copy->stamp) != action.stamp) return declined("the copy has changed");
  const bool was_good = is_good_at(action.place, action.item);
  if (!action.aside.empty()) set_aside(action, *copy);
  places_[action.place].erase(action.item);
  removals_.push_back({.item = action.item,
                       .place = action.place,
                       .was_good = was_good,
                       .good_left = good_places(action.item)});
  return storage::LifecycleOutcome{.good = true};
}

void SimulatedPlaces::set_aside(const storage::LifecycleAction& action, const SimulatedCopy& copy) {
  aside_[{action.place, action.aside}] = {.item = action.item, .copy = copy, .since = passed_};
}

Result<storage::LifecycleOutcome> SimulatedPlaces::purge(const storage::LifecycleAction& action) {
  const auto aside = aside_.find({action.place, action.aside});
  if (aside == aside_.end()) return storage::LifecycleOutcome{.good = true};
  if (text_of(aside->second.copy.stamp) != action.stamp) return declined("the copy has changed");
  removals_.push_back({.item = action.item,
                       .place = action.place,
                       .was_good = aside->second.copy.complete &&
                                   aside->second.copy.content == items_.at(action.item).content,
                       .good_left = good_places(action.item),
                       .lain = passed_ - aside->second.since});
  aside_.erase(aside);
  return storage::LifecycleOutcome{.good = true};
}

const SimulatedCopy* SimulatedPlaces::copy_at(const std::string& place,
                                              const std::string& id) const {
  const auto at = places_.find(place);
  if (at == places_.end()) return nullptr;
  const auto copy = at->second.find(id);
  return copy == at->second.end() ? nullptr : &copy->second;
}

bool SimulatedPlaces::is_good_at(const std::string& place, const std::string& id) const {
  const SimulatedCopy* copy = copy_at(place, id);
  return copy && copy->complete && copy->content == items_.at(id).content;
}

std::vector<std::string> SimulatedPlaces::good_places(const std::string& id) const {
  std::vector<std::string> good;
  for (const std::string& place : names_) {
    if (is_good_at(place, id)) good.push_back(place);
  }
  return good;
}

}  // namespace orrery::rehearse
