#include "live/agent/lifecycle_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/digest.h"
#include "live/agent/checkpoint_format.h"
#include "live/agent/item_check.h"
#include "live/s3/hash.h"

namespace orrery::agent {
namespace {

using storage::LifecycleAction;
using storage::LifecycleOutcome;

// Marker files may be added at any time; they do not change the content.
std::string stamp_of(const KeptItem& item) {
  s3::Hash hash(s3::HashKind::sha256);
  for (const KeptFile& file : item.files) {
    if (!is_mark(file.path)) hash.add(fmt::format("{}\n{}\n", file.path, file.stamp));
  }
  return to_hex(hash.finish()).substr(0, 32);
}

std::uint64_t content_bytes(const KeptItem& item) {
  std::uint64_t bytes = 0;
  for (const KeptFile& file : item.files) {
    if (is_content(file)) bytes += file.bytes;
  }
  return bytes;
}

Seconds last_write(const KeptItem& item) {
  Seconds last;
  for (const KeptFile& file : item.files) {
    if (is_content(file)) last = max(last, file.written);
  }
  return last;
}

// A time just after now, used if nothing else says when.
constexpr Seconds kMoment = seconds(0.001);

// Changes when anything about the item changes, including what makes it odd.
std::string seen_stamp(const KeptItem& item) {
  return item.odd.empty() ? stamp_of(item) : stamp_of(item) + " " + item.odd;
}

Bytes size_of(const KeptItem& item) { return bytes(static_cast<double>(content_bytes(item))); }

}  // namespace

LifecyclePlaces::LifecyclePlaces(std::vector<LivePlace> places, LivePlacesOptions options)
    : places_(std::move(places)), options_(std::move(options)) {}

LivePlace* LifecyclePlaces::place(const std::string& name) {
  const auto found = std::ranges::find(places_, name, &LivePlace::name);
  return found == places_.end() ? nullptr : &*found;
}

std::optional<std::int64_t> LifecyclePlaces::tracked_in(LivePlace& place,
                                                        const KeptListing& listing) {
  const auto file = std::ranges::find(listing.beside, kMegatronTracker, &KeptFile::path);
  if (file == listing.beside.end()) return std::nullopt;
  auto text = read_text(*place.store, "", *file);
  if (!text) return 0;  // the tracker cannot be read, so it finishes no item
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  return step_of(*text);
}

LifecyclePlaces::Seen LifecyclePlaces::see(LivePlace& place, KeptListing& listing) {
  std::optional<std::int64_t> tracked;
  if (place.written) tracked = tracked_in(place, listing);
  Seen seen;
  for (KeptItem& item : listing.items) {
    const bool is_empty = content_bytes(item) == 0 && !item.file(kManifest);
    if (is_empty && item.odd.empty()) continue;
    SeenCopy copy{.stamp = stamp_of(item)};
    const bool has_manifest = item.file(kManifest) != nullptr;
    copy.complete = place.written ? is_finished(item, tracked, options_.marker) : has_manifest;
    if (item.odd.empty()) item.odd = odd_of(place, item);
    copy.item = std::move(item);
    const std::string id = copy.item.id;
    seen.emplace(id, std::move(copy));
  }
  return seen;
}

// Returns oddities that only the port can detect: copies that the agent did not make, and manifests
// whose paths lead out of the item.
std::string LifecyclePlaces::odd_of(LivePlace& place, const KeptItem& item) {
  if (!place.written && !item.file(kManifest) && !item.begun) {
    return fmt::format("no {}: this agent did not write the copy, or did not finish it", kManifest);
  }
  const auto manifest = manifest_of(place, item);
  return manifest ? manifest_path_fault(*manifest) : std::string();
}

// A trainer may continue to write after its last file has appeared.
void LifecyclePlaces::keep_quiet(LivePlace& place, Seen& seen) {
  auto& before = stamps_before_[place.name];
  std::map<std::string, std::string> now;
  for (auto& [id, copy] : seen) {
    now[id] = seen_stamp(copy.item);
    if (!place.written) continue;
    const auto was = before.find(id);
    const bool is_quiet = this->now() - last_write(copy.item) >= options_.quiet;
    if (was != before.end() && was->second == now[id] && is_quiet) continue;
    // A name may look odd for a moment while it is being changed.
    copy.item.odd.clear();
    if (!copy.complete) continue;
    copy.complete = false;
    const Seconds since = is_quiet ? this->now() : last_write(copy.item);
    copy.quiet_at = max(since + options_.quiet, this->now() + kMoment);
  }
  before = std::move(now);
}

std::optional<CopyManifest> LifecyclePlaces::manifest_of(LivePlace& place, const KeptItem& item) {
  const KeptFile* file = item.file(kManifest);
  if (!file) return std::nullopt;
  const std::string key = place.name + "/" + item.id + "/" + file->stamp;
  if (const auto known = manifests_.find(key); known != manifests_.end()) return known->second;
  const auto text = read_text(*place.store, item.id, *file);
  if (!text) return std::nullopt;
  auto manifest = read_manifest(*text);
  if (manifest) manifests_[key] = *manifest;
  return manifest;
}

void LifecyclePlaces::view_aside(const LivePlace& place, const KeptListing& listing,
                                 storage::LifecycleLook& look) const {
  for (const KeptAside& aside : listing.aside) {
    look.aside.push_back({.place = place.name,
                          .name = aside.name,
                          .item = {.id = aside.item.id,
                                   .run = options_.run,
                                   .step = step_of(aside.item.id),
                                   .made = last_write(aside.item),
                                   .milestone = aside.item.file(kMilestone) != nullptr,
                                   .held = aside.item.file(kHold) != nullptr},
                          .stamp = stamp_of(aside.item),
                          .size = size_of(aside.item),
                          .odd = aside.item.odd,
                          .is_going = aside.is_going});
  }
}

Result<storage::LifecycleLook> LifecyclePlaces::look() {
  storage::LifecycleLook look{.now = now()};
  if (options_.machine) look.clock = options_.machine();
  std::map<std::string, storage::ItemView> items;
  for (LivePlace& place : places_) {
    const auto held = place.store->hold();
    auto listing = held ? place.store->list() : std::unexpected(held.error());
    if (!listing) {
      look.away.push_back(place.name);
      look.away_why.push_back(listing.error().front().what);
      continue;
    }
    view_aside(place, *listing, look);
    Seen seen = see(place, *listing);
    keep_quiet(place, seen);
    for (const auto& [id, copy] : seen) {
      storage::ItemView& item = items[id];
      item.id = id, item.run = options_.run, item.step = step_of(id);
      item.milestone = item.milestone || copy.item.file(kMilestone);
      item.held = item.held || copy.item.file(kHold);
      const auto manifest = manifest_of(place, copy.item);
      if (manifest) item.made = manifest->made;
      if (item.made == Seconds()) item.made = last_write(copy.item);
      item.copies.push_back({.place = place.name,
                             .size = size_of(copy.item),
                             .complete = copy.complete,
                             .stamp = copy.stamp,
                             .written = last_write(copy.item),
                             .odd = copy.item.odd,
                             .quiet_at = copy.quiet_at});
    }
  }
  for (auto& [id, item] : items) look.items.push_back(std::move(item));
  return look;
}

// If several places fail, returns the fault that names another owner.
Result<void> LifecyclePlaces::hold() {
  Result<void> all;
  for (LivePlace& place : places_) {
    auto held = place.store->hold();
    if (held) continue;
    const std::string& code = held.error().front().code;
    const bool is_anothers = code == "lifecycle.busy" || code == "lifecycle.lease";
    if (all || is_anothers) all = std::move(held);
    if (code == "lifecycle.busy") break;
  }
  return all;
}

Result<void> LifecyclePlaces::take(const std::function<void(const std::string&)>& say,
                                   const std::function<void()>& rest) {
  for (bool is_said = false; !options_.stop || !options_.stop(); is_said = true) {
    auto held = hold();
    if (held) return held;
    const Diagnostic& first = held.error().front();
    if (first.code == "lifecycle.busy") {
      release();
      return held;
    }
    if (first.code != "lifecycle.lease") return {};
    if (!is_said) say(first.what + "; waiting to see whether that agent is still running");
    rest();
  }
  return {};
}

void LifecyclePlaces::release() {
  for (LivePlace& place : places_) place.store->release();
}

Result<LifecyclePlaces::SeenCopy> LifecyclePlaces::find(const std::string& name,
                                                        const std::string& item) {
  LivePlace* at = place(name);
  if (!at) return stays("no such place: " + name);
  auto listing = at->store->list();
  if (!listing) return std::unexpected(listing.error());
  Seen seen = see(*at, *listing);
  const auto copy = seen.find(item);
  if (copy == seen.end()) return stays(fmt::format("{} is not at {}", item, name));
  if (!copy->second.item.odd.empty()) return stays(item + " holds " + copy->second.item.odd);
  return std::move(copy->second);
}

Result<void> LifecyclePlaces::check_needs(const LifecycleAction& action) {
  for (const storage::CopyNeed& need : action.needs) {
    const auto copy = find(need.place, need.item);
    if (!copy) return std::unexpected(copy.error());
    if (!copy->complete || copy->stamp != need.stamp) {
      return stays(fmt::format("{} at {} has changed since the decision", need.item, need.place));
    }
  }
  return {};
}

Result<LifecycleOutcome> LifecyclePlaces::act(const LifecycleAction& action) {
  if (action.kind == storage::LifecycleActionKind::verify) return verify(action);
  if (options_.only_read) return stays("a dry run changes nothing");
  LivePlace* at = place(action.place);
  if (!at) return stays("no such place: " + action.place);
  if (auto held = at->store->hold(); !held) return std::unexpected(held.error());
  if (auto needs = check_needs(action); !needs) return std::unexpected(needs.error());
  switch (action.kind) {
    case storage::LifecycleActionKind::copy:
      return copy(action, *at);
    case storage::LifecycleActionKind::remove:
      return remove(action, *at);
    case storage::LifecycleActionKind::purge:
      return purge(action, *at);
    default:
      return stays("there is nothing to do");
  }
}

Result<LifecycleOutcome> LifecyclePlaces::verify(const LifecycleAction& action) {
  LivePlace* at = place(action.place);
  auto before = find(action.place, action.item);
  if (!before) return std::unexpected(before.error());
  if (before->stamp != action.stamp) return stays("it has changed since it was last seen");
  const auto read = read_item(*at->store, before->item, options_.stop);
  if (!read) return std::unexpected(read.error());
  const auto failed = failed_check(*at->store, before->item, *read);
  if (!failed) return std::unexpected(failed.error());
  const auto after = find(action.place, action.item);
  if (!after) return std::unexpected(after.error());
  if (after->stamp != before->stamp) return stays("it changed while it was read");
  return LifecycleOutcome{.good = true,
                          .sound = failed->empty(),
                          .stamp = after->stamp,
                          .digest = digest_of(*read),
                          .why = *failed};
}

// The target of a copy may be free, hold an unfinished copy of ours, or hold the bad copy that the
// action names, which is then set aside. Anything else is refused.
Result<void> LifecyclePlaces::make_room(const LifecycleAction& action, LivePlace& to) {
  auto listing = to.store->list();
  if (!listing) return std::unexpected(listing.error());
  const auto item = std::ranges::find(listing->items, action.item, &KeptItem::id);
  if (item == listing->items.end()) return {};
  if (!item->odd.empty()) return stays(action.item + " holds " + item->odd);
  if (item->begun && !item->file(kManifest)) return {};
  const bool is_meant = !action.replaces.empty() && stamp_of(*item) == action.replaces;
  if (!is_meant || action.aside.empty()) {
    return stays(fmt::format("a different {} already exists at {}", action.item, to.name));
  }
  return to.store->set_aside(*item, action.aside);
}

Result<CopyFile> LifecyclePlaces::copy_file(KeepStore& from, KeepStore& to, const std::string& item,
                                            const KeptFile& file) {
  const auto stopped = [this] { return options_.stop && options_.stop(); };
  if (stopped()) return stays("stopped");
  const auto body = from.read(item, file);
  if (!body) return std::unexpected(body.error());
  auto hashing = std::make_shared<HashingSource>(*body);
  const net::BodySource hashed =
      [hashing, stopped](std::uint64_t at, std::span<char> into) -> std::optional<std::size_t> {
    if (stopped()) return std::nullopt;
    return (*hashing)(at, into);
  };
  const auto wrote = to.write(item, file.path, file.bytes, hashed);
  if (stopped()) return stays("stopped");
  if (!wrote) return std::unexpected(wrote.error());
  auto digest = file.bytes == 0 ? s3::sha256_hex("") : hashing->finish(file.bytes);
  if (!digest) return stays(file.path + " changed its length while it was read");
  return CopyFile{.bytes = file.bytes, .sha256 = std::move(*digest)};
}

Result<void> LifecyclePlaces::fill(const LifecycleAction& action, const SeenCopy& source,
                                   LivePlace& from, LivePlace& to) {
  if (auto begun = to.store->begin(action.item, source.item.mode); !begun) return begun;
  const auto made = manifest_of(from, source.item);
  CopyManifest manifest{
      .item = action.item, .made = made ? made->made : last_write(source.item), .digest = {}};
  for (const KeptFile& file : source.item.files) {
    if (file.path == kManifest) continue;
    if (auto held = to.store->hold(); !held) return held;
    auto copied = copy_file(*from.store, *to.store, action.item, file);
    if (!copied) return std::unexpected(copied.error());
    if (is_content(file)) manifest.files[file.path] = std::move(*copied);
  }
  const auto after = find(action.from, action.item);
  if (!after) return std::unexpected(after.error());
  if (after->stamp != source.stamp) return stays("it changed while it was copied");
  manifest.digest = digest_of(manifest.files);
  const std::string text = text_of(manifest);
  auto wrote =
      to.store->write(action.item, std::string(kManifest), text.size(), net::source_of(text));
  if (!wrote) return wrote;
  return to.store->finish(action.item);
}

Result<LifecycleOutcome> LifecyclePlaces::copy(const LifecycleAction& action, LivePlace& to) {
  LivePlace* from = place(action.from);
  if (!from || to.written) return stays("the agent copies nothing to this place");
  const auto source = find(action.from, action.item);
  if (!source) return std::unexpected(source.error());
  if (auto room = make_room(action, to); !room) return std::unexpected(room.error());
  auto filled = fill(action, *source, *from, to);
  if (filled) return LifecycleOutcome{.good = true};
  to.store->give_up(action.item);
  return std::unexpected(std::move(filled.error()));
}

Result<LifecycleOutcome> LifecyclePlaces::remove(const LifecycleAction& action, LivePlace& at) {
  auto listing = at.store->list();
  if (!listing) return std::unexpected(listing.error());
  const auto item = std::ranges::find(listing->items, action.item, &KeptItem::id);
  if (item == listing->items.end()) return LifecycleOutcome{.good = true};
  if (!item->odd.empty()) return stays(action.item + " holds " + item->odd);
  if (stamp_of(*item) != action.stamp) return stays("the copy was replaced since the decision");
  if (at.written && tracked_in(at, *listing) == step_of(item->id)) {
    return stays("the trainer's tracker file names it as the latest checkpoint");
  }
  if (action.aside.empty()) return stays("the action has no name to set it aside under");
  if (auto aside = at.store->set_aside(*item, action.aside); !aside) {
    return std::unexpected(aside.error());
  }
  return LifecycleOutcome{.good = true};
}

Result<LifecycleOutcome> LifecyclePlaces::purge(const LifecycleAction& action, LivePlace& at) {
  auto listing = at.store->list();
  if (!listing) return std::unexpected(listing.error());
  const auto aside = std::ranges::find(listing->aside, action.aside, &KeptAside::name);
  if (aside == listing->aside.end()) return LifecycleOutcome{.good = true};
  if (!aside->item.odd.empty()) return stays(action.aside + " holds " + aside->item.odd);
  if (!aside->is_going && stamp_of(aside->item) != action.stamp) {
    return stays("it has changed since it was set aside");
  }
  if (auto gone = at.store->purge(*aside); !gone) return std::unexpected(gone.error());
  return LifecycleOutcome{.good = true};
}

}  // namespace orrery::agent
