#include "live/upkeep/check.h"

#include <fmt/core.h>

#include <algorithm>

namespace orrery::upkeep {
namespace {

constexpr std::size_t kFaultsMax = 100;

std::string in_words(std::string_view key) {
  std::string text(key.substr(1));
  std::ranges::replace(text, '\0', '/');
  return text;
}

// What is wrong with a blob.
enum class Ailment { damaged, away, lost };

class Checker {
 public:
  Checker(store::Store& store, bool deep, const std::function<bool()>& stop)
      : store_(store), deep_(deep), stop_(stop) {}

  store::Answer<StoreCheck> run() {
    if (deep_) {
      if (auto good = store_.metadata().check_files(); !good) not_read(good.error().what);
    }
    for (const char kind : {'b', 'o', 'v', 'p', 's', 'g'}) {
      auto walked =
          walk(kind, [&](std::string_view key, std::string_view value) { take(kind, key, value); });
      if (!walked) return std::unexpected(walked.error());
      (kind == 's' || kind == 'g' ? files_known_ : names_known_) &= *walked;
    }
    if (files_known_) {
      for (const std::string& id : named_) {
        ++check_.lost_blobs;
        say("a version names blob " + id + ", which has no row");
        ailing_[id] = Ailment::lost;
      }
    }
    if (check_.stopped) return std::move(check_);
    if (auto good = look_at_drives(); !good) return std::unexpected(good.error());
    if (auto good = name_objects(); !good) return std::unexpected(good.error());
    if (garbage_ > 0) {
      check_.actions.push_back(fmt::format(
          "remove the files of {} blobs whose objects were replaced or removed", garbage_));
    }
    return std::move(check_);
  }

 private:
  void say(std::string what) {
    if (check_.faults.size() < kFaultsMax) check_.faults.push_back(std::move(what));
  }
  void not_read(const std::string& what) {
    ++check_.unreadable;
    say("the metadata is damaged: " + what);
  }

  // Returns false if the rows cannot be read to the end, or if the check was stopped.
  template <class Take>
  store::Answer<bool> walk(char kind, Take take_row) {
    const std::string base(1, kind);
    const auto cursor = store_.metadata().cursor();
    std::string last = base;
    for (cursor->seek(base); cursor->valid() && cursor->key().starts_with(base); cursor->next()) {
      check_.stopped = check_.stopped || (stop_ && stop_());
      if (check_.stopped) return false;
      last = cursor->key();
      take_row(cursor->key(), cursor->value());
    }
    const auto state = cursor->state();
    if (state) return true;
    if (state.error().kind != drives::PortFault::corrupt) return store::refused(state.error());
    not_read(fmt::format("the rows of kind {} after '{}' cannot be read: {}", kind, in_words(last),
                         state.error().what));
    return false;
  }

  // `p` comes before `s`: all rows that use blobs have been read before the blobs are checked.
  void take(char kind, std::string_view key, std::string_view value) {
    if (kind == 'b') {
      const auto bucket = rows::decode_bucket(value);
      ++check_.buckets;
      if (bucket) {
        buckets_.insert(bucket->name);
      } else {
        say("the row of a bucket is unreadable");
      }
    } else if (kind == 'o' || kind == 'v') {
      take_version(key, value);
    } else if (kind == 'p') {
      if (const auto part = rows::decode_part(value)) name(part->extent);
    } else {
      take_blob(kind, value);
    }
  }

  void name(const rows::Extent& extent) {
    if (!extent.blob.empty()) named_.insert(extent.blob);
  }

  void take_version(std::string_view key, std::string_view value) {
    const auto version = rows::decode_version(value);
    if (!version) return say("the row of a version is unreadable");
    const std::string bucket(key.substr(1, key.find('\0') - 1));
    if (!buckets_.contains(bucket))
      say("a version belongs to bucket " + bucket + ", which does not exist");
    ++check_.versions;
    check_.bytes += version->size;
    for (const rows::Extent& extent : rows::all_extents(*version)) name(extent);
  }

  void take_blob(char kind, std::string_view value) {
    const auto blob = rows::decode_blob(value);
    if (!blob) return say("the row of a blob is unreadable");
    for (std::size_t i = 0; i < blob->shards.size(); ++i) {
      files_.insert({blob->shards[i].drive,
                     store::shard_name(blob->id, static_cast<int>(i), blob->shards[i].revision)});
    }
    if (kind == 'g') {
      ++garbage_;
      return;
    }
    ++check_.blobs;
    if (named_.erase(blob->id) == 0 && names_known_) {
      ++check_.unreferenced;
      say("no object uses blob " + blob->id);
    }
    judge(*blob, deep_ || !blob->held.empty() ? check_shards(store_.setting().drives, *blob)
                                              : missing_shards(*blob));
  }

  void judge(const rows::Blob& blob, const ShardCheck& looked) {
    if (!looked.unasked.empty()) {
      say("a drive of blob " + blob.id + " does not answer, so the blob cannot be checked");
    }
    if (looked.lost) {
      ++check_.lost_blobs;
      say("the bytes in the row of blob " + blob.id + " are wrong");
      ailing_[blob.id] = Ailment::lost;
    }
    if (looked.damaged.empty()) return;
    check_.damaged_shards += looked.damaged.size();
    const int wrong = static_cast<int>(looked.damaged.size());
    const auto is_away = [&](int shard) {
      const std::string& drive = blob.shards[static_cast<std::size_t>(shard)].drive;
      const auto at = store_.setting().drives.find(drive);
      return !drive.empty() && (at == store_.setting().drives.end() || !at->second);
    };
    const auto away = static_cast<int>(std::ranges::count_if(looked.damaged, is_away));
    ailing_[blob.id] = Ailment::damaged;
    if (wrong <= blob.plan.parity) {
      for (const int shard : looked.damaged) {
        check_.actions.push_back(
            fmt::format("rebuild shard {} of blob {} from the others", shard, blob.id));
      }
    } else if (wrong - away <= blob.plan.parity) {
      ++check_.away_blobs;
      say("blob " + blob.id + " cannot be read until its missing drives are back");
      ailing_[blob.id] = Ailment::away;
    } else {
      ++check_.lost_blobs;
      say("blob " + blob.id + " has too few intact shards");
      ailing_[blob.id] = Ailment::lost;
    }
  }

  ShardCheck missing_shards(const rows::Blob& blob) {
    ShardCheck check;
    store::BlobReader reader(store_.setting().drives, blob);
    for (int i = 0; i < blob.plan.total(); ++i) {
      const auto header = reader.check_header(i);
      if (header) continue;
      (header.error().kind == drives::PortFault::busy ? check.unasked : check.damaged).insert(i);
    }
    return check;
  }

  // Files without a row can be reported only if all rows of blobs were read.
  store::Answer<void> look_at_drives() {
    for (const auto& [id, drive] : store_.setting().drives) {
      if (!drive) continue;
      const auto aside = drive->aside();
      if (!aside) return store::refused(aside.error());
      check_.aside += aside->size();
      for (const drives::AsideFile& file : *aside) {
        if (files_.contains({id, file.name}))
          check_.actions.push_back(fmt::format("restore {} on drive {}", file.name, id));
      }
      const auto names = drive->list();
      if (!names) return store::refused(names.error());
      for (const std::string& file : *names) {
        if (!files_known_ || !store::shard_name_of(file) || files_.contains({id, file})) continue;
        ++check_.orphans;
        say(fmt::format("no metadata row refers to file {} on drive {}", file, id));
        check_.actions.push_back(
            fmt::format("set aside {} on drive {}, which no metadata row refers to", file, id));
      }
    }
    return {};
  }

  // A second walk names the objects whose blobs have faults. It is needed only if there are such
  // blobs.
  store::Answer<void> name_objects() {
    if (ailing_.empty()) return {};
    for (const char kind : {'o', 'v', 'p'}) {
      const auto walked = walk(kind, [&](std::string_view key, std::string_view value) {
        std::vector<rows::Extent> extents;
        if (kind == 'p') {
          if (const auto part = rows::decode_part(value)) extents = {part->extent};
        } else if (const auto version = rows::decode_version(value)) {
          extents = rows::all_extents(*version);
        }
        for (const rows::Extent& extent : extents) name_object(kind, key, extent.blob);
      });
      if (!walked) return std::unexpected(walked.error());
    }
    return {};
  }
  void name_object(char kind, std::string_view key, const std::string& blob) {
    const auto ails = ailing_.find(blob);
    if (ails == ailing_.end()) return;
    const char* what = ails->second == Ailment::lost   ? "lost"
                       : ails->second == Ailment::away ? "away"
                                                       : "damaged";
    const std::string_view readable = kind == 'v' ? key.substr(0, key.size() - 9) : key;
    const char* of = kind == 'o' ? "" : kind == 'v' ? "an older version of " : "a part of upload ";
    check_.objects.push_back(
        fmt::format("{}: {}{} (blob {})", what, of,
                    in_words(kind == 'p' ? key.substr(0, key.find('\0')) : readable), blob));
  }

  store::Store& store_;
  bool deep_;
  std::function<bool()> stop_;
  StoreCheck check_;
  std::set<std::string> buckets_;
  std::set<std::string> named_;  // blobs that some row uses and whose own row has not been read yet
  std::set<std::pair<std::string, std::string>> files_;
  std::map<std::string, Ailment> ailing_;
  std::uint64_t garbage_ = 0;
  bool names_known_ = true;  // all rows that use blobs were read
  bool files_known_ = true;  // all rows of blobs and of garbage were read
};

}  // namespace

store::Answer<StoreCheck> check_store(store::Store& store, bool deep,
                                      const std::function<bool()>& stop) {
  return Checker(store, deep, stop).run();
}

}  // namespace orrery::upkeep
