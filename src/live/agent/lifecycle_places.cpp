#include "live/agent/lifecycle_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "live/agent/checkpoint_format.h"
#include "core/base/digest.h"
#include "live/s3/hash.h"

namespace orrery::agent {
namespace {

using Json = nlohmann::ordered_json;
using storage::LifecycleAction;
using storage::LifecycleOutcome;

constexpr std::string_view kManifest = ".orrery-copy.json";
constexpr std::string_view kMilestone = ".orrery-milestone";
constexpr std::string_view kHold = ".orrery-hold";
constexpr int kManifestVersion = 1;
constexpr std::size_t kReadBytes = std::size_t{4} << 20;
// A manifest, a tracker or an index beyond this is none.
constexpr std::uint64_t kTextMax = std::uint64_t{64} << 20;

std::unexpected<Diagnostics> stays(std::string what) {
  return fail({.code = "lifecycle.refused", .what = std::move(what)});
}

bool is_mark(const std::string& path) { return path == kMilestone || path == kHold; }
bool is_content(const KeptFile& file) { return !is_mark(file.path) && file.path != kManifest; }

// Marks may be set at any time; they change nothing that was read.
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

std::string digest_line(const std::string& path, std::uint64_t bytes, const std::string& sha256) {
  return fmt::format("{}\n{}\n{}\n", path, bytes, sha256);
}

Result<std::string> read_text(KeepStore& store, const std::string& id, const KeptFile& file) {
  if (file.bytes > kTextMax) return stays(file.path + " is too long to be read as text");
  const auto source = store.read(id, file);
  if (!source) return std::unexpected(source.error());
  std::string text(file.bytes, '\0');
  for (std::size_t done = 0; done < text.size();) {
    const auto got = (*source)(done, std::span(text).subspan(done));
    if (!got || *got == 0) return stays(file.path + " cannot be read");
    done += *got;
  }
  return text;
}

// Hashes what is read through it, from the last time that it was read from the beginning.
class HashingSource {
 public:
  explicit HashingSource(net::BodySource source) : source_(std::move(source)) {}

  std::optional<std::size_t> operator()(std::uint64_t offset, std::span<char> into) {
    const auto got = source_(offset, into);
    if (!got) return got;
    if (offset == 0) hash_ = s3::Hash(s3::HashKind::sha256), hashed_ = 0;
    if (offset == hashed_) {
      hash_.add({into.data(), *got});
      hashed_ += *got;
    }
    return got;
  }
  // Nothing where it was not read to `bytes` without a gap.
  std::optional<std::string> finish(std::uint64_t bytes) {
    if (hashed_ != bytes) return std::nullopt;
    return to_hex(hash_.finish());
  }

 private:
  net::BodySource source_;
  s3::Hash hash_{s3::HashKind::sha256};
  std::uint64_t hashed_ = 0;
};

// What marks a copy as whole goes first, so that what is left half-way is seen to be so.
std::vector<std::string> in_order_of_removal(const KeptItem& item, const std::string& marker) {
  const auto ends_it = [&](const std::string& path) {
    return path == kManifest || path == marker || path == ".metadata" ||
           path == "trainer_state.json" || path.ends_with(".index.json") ||
           path == "model.safetensors";
  };
  std::vector<std::string> paths;
  for (const KeptFile& file : item.files) paths.push_back(file.path);
  std::ranges::stable_partition(paths, ends_it);
  return paths;
}

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
  if (!text) return 0;  // not to be read: nothing is finished by it
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  return step_of(*text);
}

Result<LifecyclePlaces::Seen> LifecyclePlaces::see(LivePlace& place) {
  auto listing = place.store->list();
  if (!listing) return std::unexpected(listing.error());
  std::optional<std::int64_t> tracked;
  if (place.written) tracked = tracked_in(place, *listing);
  Seen seen;
  for (KeptItem& item : listing->items) {
    if (content_bytes(item) == 0 && !item.file(kManifest)) continue;
    SeenCopy copy{.stamp = stamp_of(item)};
    copy.complete = place.written ? is_finished(item, tracked, options_.marker)
                                  : item.file(kManifest) != nullptr;
    copy.item = std::move(item);
    const std::string id = copy.item.id;
    seen.emplace(id, std::move(copy));
  }
  return seen;
}

// A trainer may write on after its last file seemed to be there.
void LifecyclePlaces::keep_quiet(LivePlace& place, Seen& seen) {
  auto& before = stamps_before_[place.name];
  std::map<std::string, std::string> now;
  for (auto& [id, copy] : seen) {
    now[id] = copy.stamp;
    if (!place.written) continue;
    const auto was = before.find(id);
    const bool stands = was != before.end() && was->second == copy.stamp &&
                        this->now() - last_write(copy.item) >= options_.quiet;
    if (!stands) copy.complete = false;
  }
  before = std::move(now);
}

std::optional<LifecyclePlaces::Manifest> LifecyclePlaces::manifest_of(LivePlace& place,
                                                                      const SeenCopy& copy) {
  const KeptFile* file = copy.item.file(kManifest);
  if (!file) return std::nullopt;
  const std::string key = place.name + "/" + copy.item.id + "/" + file->stamp;
  if (const auto known = manifests_.find(key); known != manifests_.end()) return known->second;
  const auto text = read_text(*place.store, copy.item.id, *file);
  if (!text) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || json.value("orrery_copy", 0) != kManifestVersion) return std::nullopt;
  Manifest manifest;
  if (const auto made = json.find("made_s"); made != json.end() && made->is_number()) {
    manifest.made = seconds(made->get<double>());
  }
  if (const auto digest = json.find("digest"); digest != json.end() && digest->is_string()) {
    manifest.digest = digest->get<std::string>();
  }
  return manifests_[key] = manifest;
}

Result<storage::LifecycleLook> LifecyclePlaces::look() {
  storage::LifecycleLook look{.now = now()};
  std::map<std::string, storage::ItemView> items;
  for (LivePlace& place : places_) {
    auto seen = see(place);
    if (!seen) {
      look.away.push_back(place.name);
      continue;
    }
    keep_quiet(place, *seen);
    for (const auto& [id, copy] : *seen) {
      storage::ItemView& item = items[id];
      item.id = id, item.run = options_.run, item.step = step_of(id);
      item.milestone = item.milestone || copy.item.file(kMilestone);
      item.held = item.held || copy.item.file(kHold);
      const auto manifest = manifest_of(place, copy);
      if (manifest) item.made = manifest->made;
      if (item.made == Seconds()) item.made = last_write(copy.item);
      item.copies.push_back({.place = place.name,
                             .size = bytes(static_cast<double>(content_bytes(copy.item))),
                             .complete = copy.complete,
                             .stamp = copy.stamp,
                             .written = last_write(copy.item)});
    }
  }
  for (auto& [id, item] : items) look.items.push_back(std::move(item));
  return look;
}

Result<LifecyclePlaces::SeenCopy> LifecyclePlaces::find(const std::string& name,
                                                        const std::string& item) {
  LivePlace* at = place(name);
  if (!at) return stays("there is no place " + name);
  auto seen = see(*at);
  if (!seen) return std::unexpected(seen.error());
  const auto copy = seen->find(item);
  if (copy == seen->end()) return stays(fmt::format("{} is not at {}", item, name));
  return std::move(copy->second);
}

Result<void> LifecyclePlaces::check_needs(const LifecycleAction& action) {
  for (const storage::CopyNeed& need : action.needs) {
    const auto copy = find(need.place, need.item);
    if (!copy) return std::unexpected(copy.error());
    if (!copy->complete || copy->stamp != need.stamp) {
      return stays(fmt::format("{} at {} is no longer what it was", need.item, need.place));
    }
  }
  return {};
}

Result<LifecycleOutcome> LifecyclePlaces::act(const LifecycleAction& action) {
  if (action.kind == storage::LifecycleActionKind::verify) return verify(action);
  if (options_.only_read) return stays("a dry run moves nothing");
  if (auto needs = check_needs(action); !needs) return std::unexpected(needs.error());
  return action.kind == storage::LifecycleActionKind::copy ? copy(action) : remove(action);
}

Result<std::string> LifecyclePlaces::digest_file(KeepStore& store, const std::string& id,
                                                 const KeptFile& file) {
  const auto source = store.read(id, file);
  if (!source) return std::unexpected(source.error());
  HashingSource hashing(*source);
  std::vector<char> piece(kReadBytes);
  for (std::uint64_t done = 0; done < file.bytes;) {
    if (options_.stop && options_.stop()) return stays("stopped");
    const auto got = hashing(done, piece);
    if (!got || *got == 0) return stays(file.path + " cannot be read");
    done += *got;
  }
  if (file.bytes == 0) return s3::sha256_hex("");
  auto digest = hashing.finish(file.bytes);
  if (!digest) return stays(file.path + " changed its length");
  return std::move(*digest);
}

// By its manifest, and by what its framework's files say of themselves.
Result<bool> LifecyclePlaces::is_sound(LivePlace& place, const SeenCopy& copy,
                                       const std::string& digest) {
  if (const auto manifest = manifest_of(place, copy); manifest && manifest->digest != digest) {
    return false;
  }
  for (const KeptFile& file : copy.item.files) {
    if (file.path.ends_with(".safetensors.index.json")) {
      const auto text = read_text(*place.store, copy.item.id, file);
      if (!text) return std::unexpected(text.error());
      if (missing_shard(*text, copy.item)) return false;
    }
    if (!file.path.ends_with(".safetensors")) continue;
    KeptFile head = file;
    head.bytes = std::min<std::uint64_t>(file.bytes, 8);
    auto text = read_text(*place.store, copy.item.id, head);
    if (!text) return std::unexpected(text.error());
    const auto header = safetensors_header_bytes(*text);
    if (!header || *header + 8 > file.bytes || *header + 8 > kTextMax) return false;
    head.bytes = 8 + *header;
    text = read_text(*place.store, copy.item.id, head);
    if (!text) return std::unexpected(text.error());
    if (safetensors_bytes(*text) != file.bytes) return false;
  }
  return true;
}

Result<LifecycleOutcome> LifecyclePlaces::verify(const LifecycleAction& action) {
  LivePlace* at = place(action.place);
  auto before = find(action.place, action.item);
  if (!before) return std::unexpected(before.error());
  if (before->stamp != action.stamp) return stays("it has changed since it was seen");
  std::string lines;
  for (const KeptFile& file : before->item.files) {
    if (!is_content(file)) continue;
    const auto digest = digest_file(*at->store, action.item, file);
    if (!digest) return std::unexpected(digest.error());
    lines += digest_line(file.path, file.bytes, *digest);
  }
  const std::string digest = s3::sha256_hex(lines);
  const auto sound = is_sound(*at, *before, digest);
  if (!sound) return std::unexpected(sound.error());
  const auto after = find(action.place, action.item);
  if (!after) return std::unexpected(after.error());
  if (after->stamp != before->stamp) return stays("it changed while it was read");
  return LifecycleOutcome{.good = true, .sound = *sound, .stamp = after->stamp, .digest = digest};
}

Result<LifecycleOutcome> LifecyclePlaces::copy(const LifecycleAction& action) {
  LivePlace* from = place(action.from);
  LivePlace* to = place(action.place);
  if (!from || !to || to->written) return stays("nothing is copied there");
  const auto source = find(action.from, action.item);
  if (!source) return std::unexpected(source.error());
  const auto manifest = manifest_of(*from, *source);
  KeepStore& store = *to->store;
  // From here on the copy is unfinished, until its manifest is written.
  if (auto gone = store.erase(action.item, std::string(kManifest)); !gone) {
    return std::unexpected(gone.error());
  }
  std::string lines;
  Json files = Json::array();
  for (const KeptFile& file : source->item.files) {
    if (file.path == kManifest) continue;
    if (options_.stop && options_.stop()) return stays("stopped");
    const auto body = from->store->read(action.item, file);
    if (!body) return std::unexpected(body.error());
    auto hashing = std::make_shared<HashingSource>(*body);
    const net::BodySource hashed = [hashing](std::uint64_t offset, std::span<char> into) {
      return (*hashing)(offset, into);
    };
    if (auto wrote = store.write(action.item, file.path, file.bytes, hashed); !wrote) {
      return std::unexpected(wrote.error());
    }
    const auto digest = file.bytes == 0 ? s3::sha256_hex("") : hashing->finish(file.bytes);
    if (!digest) return stays(file.path + " changed its length");
    if (is_mark(file.path)) continue;
    lines += digest_line(file.path, file.bytes, *digest);
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256", *digest}});
  }
  // What an earlier attempt left and the item no longer has.
  if (const auto made = find(action.place, action.item)) {
    for (const KeptFile& file : made->item.files) {
      if (source->item.file(file.path) || is_mark(file.path)) continue;
      if (auto gone = store.erase(action.item, file.path); !gone) {
        return std::unexpected(gone.error());
      }
    }
  }
  const Seconds made = manifest ? manifest->made : last_write(source->item);
  const Json json = {{"orrery_copy", kManifestVersion},
                     {"item", action.item},
                     {"made_s", made.base()},
                     {"digest", s3::sha256_hex(lines)},
                     {"files", std::move(files)}};
  const std::string text = json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
  if (auto wrote =
          store.write(action.item, std::string(kManifest), text.size(), net::source_of(text));
      !wrote) {
    return std::unexpected(wrote.error());
  }
  return LifecycleOutcome{.good = true};
}

Result<LifecycleOutcome> LifecyclePlaces::remove(const LifecycleAction& action) {
  LivePlace* at = place(action.place);
  if (!at) return stays("there is no place " + action.place);
  auto listing = at->store->list();
  if (!listing) return std::unexpected(listing.error());
  const auto item = std::ranges::find(listing->items, action.item, &KeptItem::id);
  if (item == listing->items.end()) return LifecycleOutcome{.good = true};
  if (stamp_of(*item) != action.stamp) return stays("it is another copy now");
  if (at->written && tracked_in(*at, *listing) == step_of(item->id)) {
    return stays("the trainer's tracker names it as the latest");
  }
  for (const std::string& path : in_order_of_removal(*item, options_.marker)) {
    if (auto gone = at->store->erase(item->id, path); !gone) return std::unexpected(gone.error());
  }
  return LifecycleOutcome{.good = true};
}

}  // namespace orrery::agent
