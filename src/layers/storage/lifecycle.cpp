#include "layers/storage/lifecycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/math.h"
#include "layers/storage/lifecycle_aside.h"
#include "layers/storage/lifecycle_clock.h"
#include "layers/storage/lifecycle_wants.h"

namespace orrery::storage {
namespace {

constexpr Seconds kDay = days(1);
// Consecutive failures after which an alert is raised.
constexpr int kFailuresTold = 3;
// After this many doublings the longest wait is reached in any case.
constexpr int kDoublingsMax = 20;

class Decider {
 public:
  Decider(const LifecycleLook& look, const LifecycleMemory& memory, const LifecyclePolicy& policy)
      : look_(look),
        memory_(memory),
        policy_(policy),
        items_(states_of(look, memory, policy)),
        ahead_(runs_ahead(items_, look.now)),
        is_used_(policy.places.size(), false) {
    for (const ItemState& item : items_) note_head(item);
  }

  LifecycleDecision run() {
    std::vector<const ItemState*> order;
    for (const ItemState& item : items_) order.push_back(&item);
    // Newest first, because what a restart would need must become safe before anything else.
    std::ranges::stable_sort(
        order, [](const ItemState* a, const ItemState* b) { return is_older(*b->view, *a->view); });
    doubt_clock();
    for (const ItemState* item : order)
      if (!is_doubted(*item->view)) remove_from(*item);
    for (const ItemState* item : order) read_unread(*item);
    for (const ItemState* item : order) copy(*item);
    // Uses the remaining moves: items that are already safe must not delay items that are not.
    for (const ItemState* item : order) read_again(*item);
    for (const ItemState* item : order) tell_about(*item);
    purge();
    forget_gone();
    return std::move(decision_);
  }

  // Returns the copies that make it safe to remove the item's copy from a place, if it is safe.
  std::optional<std::vector<CopyNeed>> grounds_of(const std::string& id, std::size_t place) const {
    const ItemState* item = state_of(id);
    return item ? grounds_to_remove(*item, place) : std::nullopt;
  }

 private:
  const ItemState* state_of(const std::string& id) const {
    const auto found = std::ranges::find(items_, id, [](const ItemState& i) { return i.view->id; });
    return found == items_.end() ? nullptr : &*found;
  }

  // Records the head of each run: its newest item with a good copy at a durable place, on which
  // removing all others depends. A newer item that is good only on the nodes has no other copy, so
  // nothing removes it. Items without a run have no head, because nothing restarts from them.
  void note_head(const ItemState& item) {
    if (item.view->run.empty()) return;
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      if (item.states[p] != CopyState::good || !policy_.places[p].durable) continue;
      const ItemState*& head = heads_[item.view->run];
      if (head == nullptr || is_older(*head->view, *item.view)) head = &item;
    }
  }

  bool is_away(std::size_t place) const {
    return std::ranges::find(look_.away, policy_.places[place].name) != look_.away.end();
  }

  // Returns false for an action that failed recently, so that others get their turn.
  bool is_due(const std::string& key) {
    const auto found = memory_.attempts.find(key);
    if (found == memory_.attempts.end()) return true;
    const LifecycleAttempt& attempt = found->second;
    const double doubled = math::exp2(std::clamp(attempt.count - 1, 0, kDoublingsMax));
    const Seconds pause = min(policy_.settle * doubled, policy_.settle_max);
    // A clock that was set back must not delay it for longer than the pause.
    const Seconds since = look_.now - attempt.last;
    if (attempt.count >= kFailuresTold) tell_of_failures(key, attempt);
    if (since >= pause || since < Seconds()) return true;
    wait({WaitKind::retry, key, attempt.last + pause, attempt.count});
    return false;
  }

  // Repeated failures need an operator: a file that cannot be read, a disk that is full.
  void tell_of_failures(const std::string& key, const LifecycleAttempt& attempt) {
    const std::size_t slash = key.find('/', key.find('/') + 1);
    const std::string verb = key.substr(0, key.find('/'));
    tell("failing/" + key, key.substr(std::min(key.size(), slash + 1)),
         fmt::format("{} at {} fails again and again: {}", verb,
                     key.substr(verb.size() + 1, slash - verb.size() - 1), attempt.why));
  }

  void wait(LifecycleWait wait) { decision_.waits.push_back(std::move(wait)); }

  // Returns true if the place's hours and pace allow data to move now.
  bool is_open(std::size_t place, const std::string& key) {
    const KeepPlace& p = policy_.places[place];
    if (is_used_[place]) return false;
    const auto busy = memory_.busy_until.find(p.name);
    const auto since = memory_.paced_at.find(p.name);
    const bool is_ahead = since != memory_.paced_at.end() && look_.now < since->second;
    if (busy != memory_.busy_until.end() && look_.now < busy->second && !is_ahead) {
      wait({WaitKind::pace, key, busy->second});
      return false;
    }
    if (p.opens == p.closes) return true;
    const Seconds of_day = look_.now - std::floor(look_.now / kDay) * kDay;
    const bool over_midnight = p.closes < p.opens;
    const bool after = of_day >= p.opens, before = of_day < p.closes;
    if (over_midnight ? after || before : after && before) return true;
    wait({WaitKind::hours, key, look_.now + p.opens - of_day + (after ? kDay : Seconds())});
    return false;
  }

  void use_budget(std::size_t place, Bytes size) {
    const KeepPlace& p = policy_.places[place];
    if (p.pace <= BytesPerSecond()) return;
    is_used_[place] = true;
    decision_.events.push_back({.kind = LifecycleEventKind::paced,
                                .at = look_.now,
                                .place = p.name,
                                .until = look_.now + size / p.pace});
  }

  void ask(LifecycleAction action) { decision_.actions.push_back(std::move(action)); }

  void tell(std::string key, const std::string& item, std::string why) {
    LifecycleAction alert{.kind = LifecycleActionKind::alert,
                          .item = item,
                          .why = std::move(why),
                          .key = std::move(key)};
    decision_.standing.push_back(alert);
    if (memory_.alerted.contains(alert.key)) return;
    decision_.events.push_back(
        {.kind = LifecycleEventKind::alerted, .at = look_.now, .key = alert.key});
    ask(std::move(alert));
  }

  void doubt_clock() {
    const ClockView clock = view_clock(look_, memory_, policy_);
    for (const LifecycleEvent& event : clock.events) decision_.events.push_back(event);
    is_clock_doubted_ = !clock.doubt.empty();
    if (is_clock_doubted_) tell(clock.key, "clock", clock.doubt);
    for (const auto& [run, item] : ahead_) {
      tell("ahead//" + item->id, item->id,
           "it was made in the future, so it is not known which of its run is the newest: nothing "
           "of the run is removed until then; touch its files if the clock is right");
    }
  }
  bool is_doubted(const ItemView& item) const {
    return is_clock_doubted_ || ahead_.contains(item.run);
  }

  // Returns the name under which a copy is set aside. It is journalled before anything is renamed:
  // data there that has no journal entry is never removed.
  std::string to_set_aside(const ItemState& item, std::size_t place) {
    if (!policy_.grace) return {};
    const std::string& at = policy_.places[place].name;
    std::string name = name_aside(item.view->id, at, look_.now, memory_);
    decision_.events.push_back({.kind = LifecycleEventKind::aside,
                                .at = look_.now,
                                .item = item.view->id,
                                .place = at,
                                .stamp = item.copies[place]->stamp,
                                .digest = digest_of(item.view->id),
                                .key = at + '/' + name,
                                .made = item.view->made});
    return name;
  }

  std::string digest_of(const std::string& item) const {
    const auto known = memory_.items.find(item);
    return known == memory_.items.end() ? std::string() : known->second.digest;
  }

  std::string key_of(std::string_view verb, std::size_t place, const ItemState& item) const {
    return fmt::format("{}/{}/{}", verb, policy_.places[place].name, item.view->id);
  }

  // Returns the good copies at durable places that should hold the item; none is to be removed.
  std::vector<CopyNeed> good_and_wanted(const ItemState& item) const {
    std::vector<CopyNeed> needs;
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      const bool counts = policy_.places[p].durable && item.wanted[p];
      if (!counts || !item.is_good_at(p)) continue;
      needs.push_back({item.view->id, policy_.places[p].name, item.copies[p]->stamp});
    }
    return needs;
  }

  std::size_t durable_wants(const ItemState& item) const {
    std::size_t count = 0;
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      if (item.wanted[p] && policy_.places[p].durable) ++count;
    }
    return count;
  }

  std::vector<CopyNeed> durable_copies(const ItemState& item) const {
    std::vector<CopyNeed> needs;
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      if (!policy_.places[p].durable || !item.is_good_at(p)) continue;
      needs.push_back({item.view->id, policy_.places[p].name, item.copies[p]->stamp});
    }
    return needs;
  }

  // Returns the copies that make it safe to remove this copy; nullopt if it is not safe.
  std::optional<std::vector<CopyNeed>> grounds_to_remove(const ItemState& item,
                                                         std::size_t place) const {
    const CopyState state = item.states[place];
    if (state == CopyState::absent || is_left_alone(item)) return std::nullopt;
    // A corrupt copy that should be there is overwritten, not removed.
    if (item.wanted[place]) return std::nullopt;
    const auto found = heads_.find(item.view->run);
    const ItemState* head = found == heads_.end() ? nullptr : found->second;
    if (&item == head && state == CopyState::good) return std::nullopt;
    // A copy that failed a check may be the only one left, and someone may still recover something
    // from it.
    std::vector<CopyNeed> same;
    if (state == CopyState::corrupt) same = durable_copies(item);
    if (state == CopyState::corrupt && same.empty()) return std::nullopt;
    std::vector<CopyNeed> kept = good_and_wanted(item);
    const std::size_t wants = durable_wants(item);
    if (is_to_be_compared(item, place)) return std::nullopt;
    const auto asked = static_cast<std::size_t>(std::max(1, policy_.copies_min));
    const bool enough = kept.size() >= std::clamp<std::size_t>(wants, 1, asked);
    if (wants > 0 || item.view->held) {
      return enough ? std::optional(std::move(kept)) : std::nullopt;
    }
    // No durable place should keep it: it may be removed if a restart has something newer that is
    // kept.
    if (head == nullptr || !is_older(*item.view, *head->view)) return std::nullopt;
    std::vector<CopyNeed> needs = durable_copies(*head);
    needs.insert(needs.end(), same.begin(), same.end());
    return needs;
  }

  // At a place that others write to, a copy that was not read may have been rewritten, so what is
  // safe elsewhere under its name may be something else.
  bool is_to_be_compared(const ItemState& item, std::size_t place) const {
    const bool rests_on_others = durable_wants(item) > 0 || item.view->held;
    return policy_.places[place].written && item.states[place] == CopyState::unread &&
           rests_on_others;
  }

  // An operator must resolve two contents under one name, and items with anything but plain files;
  // an item that is being written somewhere may become the newest.
  bool is_left_alone(const ItemState& item) const {
    return item.has(CopyState::conflict) || item.has(CopyState::odd) || is_being_written(item);
  }

  bool is_being_written(const ItemState& item) const {
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      if (policy_.places[p].written && item.states[p] == CopyState::unfinished) return true;
    }
    return false;
  }

  void remove_from(const ItemState& item) {
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      auto grounds = grounds_to_remove(item, p);
      std::string key = key_of("remove", p, item);
      if (!grounds || !is_due(key)) continue;
      ask({.kind = LifecycleActionKind::remove,
           .item = item.view->id,
           .place = policy_.places[p].name,
           .stamp = item.copies[p]->stamp,
           .size = item.copies[p]->size,
           .needs = std::move(*grounds),
           .why = reason_to_go(item, p),
           .key = std::move(key),
           .aside = to_set_aside(item, p)});
    }
  }

  std::string reason_to_go(const ItemState& item, std::size_t place) const {
    if (item.states[place] == CopyState::corrupt) return "its bytes differ from the item's";
    if (durable_wants(item) == 0) return "no rule keeps it, and a newer one is safe";
    std::string held_by;
    for (const CopyNeed& need : good_and_wanted(item)) {
      held_by += (held_by.empty() ? "" : " and ") + need.place;
    }
    return "safe at " + held_by;
  }

  // Requests reads of copies that were never read, if the item is wanted or has to be copied from
  // them.
  void read_unread(const ItemState& item) {
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      if (item.states[p] != CopyState::unread || is_left_alone(item)) continue;
      // One good copy is enough to copy from. The others are read if they are to stay, or if they
      // are to be removed at a place that others write to.
      const bool is_spare = item.is_good_anywhere() || !item.is_wanted();
      if (!item.wanted[p] && is_spare && !is_to_be_compared(item, p)) continue;
      read(item, p, "it was never read");
    }
  }

  void read_again(const ItemState& item) {
    if (policy_.reread <= Seconds() || item.has(CopyState::conflict)) return;
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      if (!item.is_good_at(p)) continue;
      const auto last = memory_.attempts.find(key_of("verify", p, item));
      if (last != memory_.attempts.end() && look_.now - last->second.last < policy_.reread)
        continue;
      read(item, p, "it was last read long ago");
    }
  }

  void read(const ItemState& item, std::size_t place, std::string why) {
    std::string key = key_of("verify", place, item);
    if (!is_due(key) || !is_open(place, key) || !take_move()) return;
    use_budget(place, item.copies[place]->size);
    ask({.kind = LifecycleActionKind::verify,
         .item = item.view->id,
         .place = policy_.places[place].name,
         .stamp = item.copies[place]->stamp,
         .size = item.copies[place]->size,
         .why = std::move(why),
         .key = std::move(key)});
  }

  // Returns the fastest place with a good copy; copies at places that are away are not seen.
  std::optional<std::size_t> source_of(const ItemState& item) const {
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      if (item.is_good_at(p)) return p;
    }
    return std::nullopt;
  }

  void copy(const ItemState& item) {
    const auto from = source_of(item);
    if (!from || is_left_alone(item)) return;
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      const CopyState state = item.states[p];
      const bool has_one = state == CopyState::good || state == CopyState::unread;
      // Nothing is copied to a place that others write to: what looks missing there may be on its
      // way.
      if (!item.wanted[p] || has_one || is_away(p) || policy_.places[p].written) continue;
      std::string key = key_of("copy", p, item);
      if (!is_due(key) || !is_open(p, key) || !take_move()) continue;
      const CopyView& source = *item.copies[*from];
      const bool replaces = state == CopyState::corrupt;
      use_budget(p, source.size);
      ask({.kind = LifecycleActionKind::copy,
           .item = item.view->id,
           .place = policy_.places[p].name,
           .from = policy_.places[*from].name,
           .stamp = source.stamp,
           .size = source.size,
           .needs = {{item.view->id, policy_.places[*from].name, source.stamp}},
           .why = fmt::format("{} should hold it", policy_.places[p].name),
           .key = std::move(key),
           .aside = replaces ? to_set_aside(item, p) : std::string(),
           .replaces = replaces ? item.copies[p]->stamp : std::string()});
    }
  }

  // At most moves_max moves are requested at once; the rest is considered again at the next look.
  bool take_move() {
    if (moves_ >= policy_.moves_max) return false;
    ++moves_;
    return true;
  }

  void tell_about(const ItemState& item) {
    const std::string& id = item.view->id;
    for (std::size_t p = 0; p < policy_.places.size(); ++p) {
      const std::string& place = policy_.places[p].name;
      if (item.states[p] == CopyState::absent) continue;
      const CopyView& copy = *item.copies[p];
      if (item.states[p] == CopyState::corrupt) {
        tell(key_of("corrupt", p, item), id,
             fmt::format("the copy at {} fails a check ({}){}", place, check_of(id, place),
                         item.is_good_anywhere()
                             ? ""
                             : "; there is no good copy elsewhere, so it is left where it is"));
      }
      if (item.states[p] == CopyState::odd) {
        tell(fmt::format("odd/{}/{}/{}", place, copy.odd, id), id,
             fmt::format("left alone: at {} it holds {}", place, copy.odd));
      }
      const bool is_stale = item.states[p] == CopyState::unfinished && policy_.places[p].written &&
                            copy.quiet_at == Seconds() && look_.now - copy.written > policy_.stale;
      if (is_stale) {
        tell(key_of("stale", p, item), id,
             fmt::format("its writer has not finished it at {}; it is left alone", place));
      }
      if (copy.quiet_at > look_.now)
        wait({WaitKind::quiet, key_of("quiet", p, item), copy.quiet_at});
    }
    if (item.has(CopyState::conflict)) {
      tell("conflict//" + id, id,
           "it was rewritten under the same name: all copies are left alone");
    }
  }

  std::string check_of(const std::string& item, const std::string& place) const {
    const auto known = memory_.items.find(item);
    if (known == memory_.items.end()) return "its bytes";
    const auto fact = known->second.copies.find(place);
    const bool is_said = fact != known->second.copies.end() && !fact->second.why.empty();
    return is_said ? fact->second.why : "its bytes differ from those first read";
  }

  // Removes what was set aside once its time is over.
  void purge() {
    if (!policy_.grace) return;
    for (const AsideView& view : look_.aside) purge(view);
    for (const auto& [key, fact] : memory_.aside) {
      const bool is_there = std::ranges::any_of(
          look_.aside, [&](const AsideView& view) { return view.place + '/' + view.name == key; });
      const auto place = std::ranges::find(policy_.places, fact.place, &KeepPlace::name);
      const bool is_seen = place != policy_.places.end() &&
                           !is_away(static_cast<std::size_t>(place - policy_.places.begin()));
      if (is_there || !is_seen) continue;
      decision_.events.push_back({.kind = LifecycleEventKind::purged, .at = look_.now, .key = key});
    }
  }

  void purge(const AsideView& view) {
    const std::string key = view.place + '/' + view.name;
    const auto stays = [&](const std::string& why) {
      tell("aside/" + key, view.item.id,
           fmt::format("{} was set aside at {} and stays there: {}", view.name, view.place, why));
    };
    const auto fact = memory_.aside.find(key);
    if (fact == memory_.aside.end()) return stays("this journal has no record of setting it aside");
    if (!view.odd.empty()) return stays("it holds " + view.odd);
    if (!view.is_going && view.stamp != fact->second.stamp) {
      return stays("it has changed since it was set aside");
    }
    const Seconds grace = *policy_.grace;
    if (look_.clock.boot.empty()) return;
    if (!fact->second.is_seen || fact->second.since.boot != look_.clock.boot) {
      decision_.events.push_back(seen_aside(key, fact->second, memory_, look_.clock, look_.now));
      return wait({WaitKind::grace, "purge/" + key, look_.now + grace});
    }
    const Seconds lain = time_aside(fact->second, memory_, look_.clock);
    if (!view.is_going && lain < grace) {
      return wait({WaitKind::grace, "purge/" + key, look_.now + grace - lain});
    }
    if (!view.is_going && is_doubted(view.item)) return;
    if (!is_due("purge/" + key)) return;
    std::optional<std::vector<CopyNeed>> needs{std::in_place};
    if (!view.is_going) needs = grounds_to_purge(view, fact->second);
    if (!needs) return stays("what should replace it is not safe, or the rules want it again");
    ask({.kind = LifecycleActionKind::purge,
         .item = view.item.id,
         .place = view.place,
         .stamp = fact->second.stamp,
         .size = view.size,
         .needs = std::move(*needs),
         .why = "it was set aside, and its grace period is over",
         .key = "purge/" + key,
         .aside = view.name});
  }

  // Repeats the check made before it was set aside, on what is seen now, as if it were back.
  std::optional<std::vector<CopyNeed>> grounds_to_purge(const AsideView& view,
                                                        const AsideFact& fact) const {
    const auto at = std::ranges::find(policy_.places, view.place, &KeepPlace::name);
    if (at == policy_.places.end()) return std::nullopt;
    const auto place = static_cast<std::size_t>(at - policy_.places.begin());
    const ItemState* item = state_of(view.item.id);
    if (item && is_left_alone(*item)) return std::nullopt;
    if (item && item->states[place] != CopyState::absent) {
      // Another copy took its place: it must have the same bytes, otherwise an operator decides.
      std::vector<CopyNeed> good = durable_copies(*item);
      const bool is_same = !fact.digest.empty() && fact.digest == digest_of(view.item.id);
      return is_same && !good.empty() ? std::optional(std::move(good)) : std::nullopt;
    }
    LifecycleLook back = look_;
    back.aside.clear();
    auto found = std::ranges::lower_bound(back.items, view.item.id, {}, &ItemView::id);
    if (!item) {
      found = back.items.insert(found, view.item);
      found->made = fact.made;
    }
    found->copies.push_back({.place = view.place,
                             .size = view.size,
                             .complete = true,
                             .stamp = view.stamp,
                             .written = fact.made});
    return Decider(back, memory_, policy_).grounds_of(view.item.id, place);
  }

  // A listing may omit an item for a while. The digest of its bytes is remembered over that time:
  // if it were forgotten, the first copy read afterwards would be trusted, even a bad one.
  void forget_gone() {
    const auto note = [this](LifecycleEventKind kind, const std::string& item) {
      decision_.events.push_back({.kind = kind, .at = look_.now, .item = item});
    };
    for (const auto& [id, item] : memory_.items) {
      const auto seen = std::ranges::lower_bound(look_.items, id, {}, &ItemView::id);
      if (seen != look_.items.end() && seen->id == id) {
        if (!item.gone) continue;
        note(is_another(*seen, item) ? LifecycleEventKind::forgotten : LifecycleEventKind::back,
             id);
      } else if (!look_.away.empty()) {
        continue;
      } else if (!item.gone) {
        note(LifecycleEventKind::gone, id);
      } else if (look_.now - *item.gone >= policy_.forget) {
        note(LifecycleEventKind::forgotten, id);
      }
    }
  }

  // Returns true if the item was gone and a copy that was never read has appeared under its name at
  // a place that others write to.
  bool is_another(const ItemView& item, const ItemMemory& memory) const {
    return std::ranges::any_of(item.copies, [&](const CopyView& copy) {
      const auto place = std::ranges::find(policy_.places, copy.place, &KeepPlace::name);
      const auto fact = memory.copies.find(copy.place);
      const bool was_read = fact != memory.copies.end() && fact->second.stamp == copy.stamp;
      return place != policy_.places.end() && place->written && !was_read;
    });
  }

  const LifecycleLook& look_;
  const LifecycleMemory& memory_;
  const LifecyclePolicy& policy_;
  std::vector<ItemState> items_;
  std::map<std::string_view, const ItemView*> ahead_;  // runs with an item made in the future
  bool is_clock_doubted_ = false;
  std::map<std::string_view, const ItemState*> heads_;
  LifecycleDecision decision_;
  std::vector<bool> is_used_;  // places whose budget this decision has used
  int moves_ = 0;
};

LifecycleEventKind finding_of(const LifecycleAction& action, const LifecycleOutcome& outcome,
                              const LifecycleMemory& memory, const LifecyclePolicy& policy) {
  if (outcome.sound == false) return LifecycleEventKind::corrupt;
  const auto item = memory.items.find(action.item);
  const bool is_first = item == memory.items.end() || item->second.digest.empty();
  if (is_first || item->second.digest == outcome.digest) return LifecycleEventKind::verified;
  // At a place that others write to, other bytes with a stamp other than the last one read mean
  // that it was rewritten. In all other cases the copy has gone bad.
  const auto place = std::ranges::find(policy.places, action.place, &KeepPlace::name);
  const auto fact = item->second.copies.find(action.place);
  const bool is_rewritten =
      place != policy.places.end() && place->written &&
      (fact == item->second.copies.end() || fact->second.stamp != outcome.stamp);
  return is_rewritten ? LifecycleEventKind::conflict : LifecycleEventKind::corrupt;
}

}  // namespace

LifecycleDecision decide(const LifecycleLook& look, const LifecycleMemory& memory,
                         const LifecyclePolicy& policy) {
  return Decider(look, memory, policy).run();
}

std::vector<LifecycleEvent> learn(const LifecycleAction& action, const LifecycleOutcome& outcome,
                                  const LifecycleMemory& memory, const LifecyclePolicy& policy,
                                  Seconds now) {
  std::vector<LifecycleEvent> events = {{.kind = LifecycleEventKind::tried,
                                         .at = now,
                                         .key = action.key,
                                         .good = outcome.good,
                                         .why = outcome.good ? std::string() : outcome.why}};
  if (action.kind == LifecycleActionKind::purge && outcome.good) {
    events.push_back({.kind = LifecycleEventKind::purged,
                      .at = now,
                      .item = action.item,
                      .key = action.place + '/' + action.aside});
  }
  if (action.kind != LifecycleActionKind::verify || !outcome.good) return events;
  events.push_back({.kind = finding_of(action, outcome, memory, policy),
                    .at = now,
                    .item = action.item,
                    .place = action.place,
                    .stamp = outcome.stamp,
                    .digest = outcome.digest,
                    .why = outcome.why});
  return events;
}

}  // namespace orrery::storage
