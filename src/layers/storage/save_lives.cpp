#include "layers/storage/save_lives.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "layers/storage/lifecycle_driver.h"

namespace orrery::storage {
namespace {

// Endless ticks would be a fault of the policy; the saves considered never take this many.
constexpr int kTicksMost = 100'000;

std::string id_of(int save) { return fmt::format("save-{:04}", save); }
int save_of(const std::string& id) { return std::stoi(id.substr(id.find('-') + 1)); }

class PlannedPlaces final : public LifecyclePort {
 public:
  explicit PlannedPlaces(const LivesQuestion& question) : q_(question) {}

  Result<LifecycleLook> look() override {
    write_up_to(now_);
    LifecycleLook l{.now = now_, .away = {}, .items = items_};
    std::erase_if(l.items, [](const ItemView& i) { return i.copies.empty(); });
    return l;
  }

  Result<LifecycleOutcome> act(const LifecycleAction& action) override {
    ItemView& item = items_[static_cast<std::size_t>(save_of(action.item))];
    const LivesPlace& place = place_of(action.place);
    if (action.kind == LifecycleActionKind::remove) {
      std::erase_if(item.copies, [&](const CopyView& c) { return c.place == action.place; });
      note(LifeMoveKind::removed, action);
      for (LifeStay& s : lives_.stays) {
        if (s.save == save_of(action.item) && s.place == action.place && !s.until) s.until = now_;
      }
      return LifecycleOutcome{.good = true};
    }
    if (action.kind == LifecycleActionKind::copy) {
      now_ += place.takes;
      arrive(item, action.place);
      note(LifeMoveKind::copied, action);
    } else {
      now_ += place.reread;
    }
    return LifecycleOutcome{.good = true, .sound = true, .stamp = kStamp, .digest = action.item};
  }

  Seconds now() const override { return now_; }

  // Advances to when the next save is whole; returns false if none is left.
  bool go_on() {
    if (written_ >= q_.saves) return false;
    now_ = max(now_, whole_at(written_));
    return true;
  }

  SaveLives lives() && {
    lives_.end = now_;
    return std::move(lives_);
  }

 private:
  static constexpr const char* kStamp = "1";

  const LivesPlace& place_of(const std::string& name) const {
    return *std::ranges::find_if(q_.places, [&](const auto& p) { return p.place.name == name; });
  }
  Seconds whole_at(int save) const { return q_.interval * save + q_.places.front().takes; }
  bool is_milestone(int save) const {
    if (q_.milestone <= Seconds(0)) return false;
    const auto span = [&](int k) { return std::floor(q_.interval * k / q_.milestone); };
    return save == 0 || span(save) > span(save - 1);
  }

  void arrive(ItemView& item, const std::string& place) {
    item.copies.push_back(
        {.place = place, .size = q_.size, .complete = true, .stamp = kStamp, .written = now_});
    lives_.stays.push_back(
        {.save = save_of(item.id), .place = place, .from = now_, .until = std::nullopt});
  }

  void write_up_to(Seconds now) {
    for (; written_ < q_.saves && whole_at(written_) <= now; ++written_) {
      ItemView item{.id = id_of(written_), .run = "run", .step = written_};
      item.made = q_.interval * written_;
      item.milestone = is_milestone(written_);
      if (item.milestone) lives_.milestones.push_back(written_);
      const std::string& first = q_.places.front().place.name;
      const Seconds at = whole_at(written_);
      items_.push_back(std::move(item));
      arrive(items_.back(), first);
      items_.back().copies.back().written = lives_.stays.back().from = at;
      lives_.moves.push_back({.at = at,
                              .kind = LifeMoveKind::written,
                              .save = written_,
                              .place = first,
                              .from = {},
                              .why = "the run saved it"});
    }
  }

  void note(LifeMoveKind kind, const LifecycleAction& action) {
    lives_.moves.push_back({.at = now_,
                            .kind = kind,
                            .save = save_of(action.item),
                            .place = action.place,
                            .from = action.from,
                            .why = action.why});
  }

  const LivesQuestion& q_;
  Seconds now_;
  int written_ = 0;
  std::vector<ItemView> items_;  // indexed by save
  SaveLives lives_;
};

}  // namespace

const char* to_text(LifeMoveKind kind) {
  switch (kind) {
    case LifeMoveKind::written:
      return "written";
    case LifeMoveKind::copied:
      return "copied";
    case LifeMoveKind::removed:
      return "removed";
  }
  return "";
}

SaveLives follow_saves(const LivesQuestion& question) {
  if (question.places.empty() || question.interval <= Seconds(0)) return {};
  LifecyclePolicy policy;
  for (const LivesPlace& p : question.places) policy.places.push_back(p.place);
  PlannedPlaces places(question);
  const auto forget = [](const std::vector<LifecycleEvent>&) -> Result<void> { return {}; };
  LifecycleDriver driver(places, forget, policy, {});
  for (int tick = 0; tick < kTicksMost; ++tick) {
    const auto done = driver.tick();
    const bool is_quiet = !done || done->done.empty();
    if (is_quiet && !places.go_on()) break;
  }
  SaveLives lives = std::move(places).lives();
  std::ranges::stable_sort(lives.moves, {}, &LifeMove::at);
  return lives;
}

}  // namespace orrery::storage
