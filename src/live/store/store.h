// The store without its protocol: buckets, versions and blobs over the two ports.
//
// Every change is read, decide (decide.h), commit, and again where another came first; so any
// number of threads may call, and a crash at any point leaves the rows as before or as after. An
// object's bytes are durable (blob.h) before the commit that names them, and the commit is durable
// before the call returns: what was acknowledged is kept, and no half object can be seen. Bytes
// whose commit never came are swept by the next run (sweep.h).
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "live/store/blob.h"
#include "live/store/decide.h"
#include "live/store/refusal.h"

namespace orrery::store {

// A code that never reaches a client: what was read is old, the caller looks again, so often.
inline constexpr std::string_view kRowChanged = "RowChanged";
inline constexpr int kLooks = 20;

using ClockMs = std::function<rows::TimeMs()>;

struct StoreSetting {
  rows::Metadata& metadata;
  DriveSet drives = {};
  std::vector<Tier> tiers = {};  // the first takes what names no storage class
  ClockMs now_ms;
  std::function<std::string(std::size_t)> random_bytes;
  KeyRing keys = {};
  drives::Hedger* hedger = nullptr;  // of reads of objects
  // So long what was removed stays where others share the metadata: this run does not know what
  // they read. A file that is open can be read though it is removed, so only an object in many
  // parts may be cut off, by a reader who takes longer. 0: there are no others now.
  rows::TimeMs shared_grace_ms = 600'000;
  // The number of this run is higher than this one: drives have seen it, though the metadata may
  // have lost it.
  std::uint64_t run_after = 0;
  // Says that nothing may be added now: the metadata's disk is full.
  std::function<bool()> is_tight = nullptr;
  // Says that the drives have seen nothing that the metadata do not know. Only then are files
  // removed that were set aside.
  std::function<bool()> agrees = nullptr;
  // A person looked at what is to be swept (repair): whole objects without a row are set aside too.
  bool sweeps_whole = false;
  // So long files that no row names stay set aside, counted in time that the store was well.
  std::uint64_t aside_ms = 7ull * 24 * 3600 * 1000;
};

// Blobs that somebody reads: the collector leaves them until the last has gone.
class BlobPins {
 public:
  void pin(const std::string& blob);
  void unpin(const std::string& blob);
  bool pinned(const std::string& blob) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> counts_;
};

// When objects of the slower tiers were read last, as far as this run remembers: what is read is
// brought nearer (tier_places.h).
class ReadTimes {
 public:
  void note(const std::string& bucket, const std::string& key, const std::string& version,
            rows::TimeMs now);
  rows::TimeMs last(const std::string& bucket, const std::string& key,
                    const std::string& version) const;

 private:
  static constexpr std::size_t kMost = 100'000;
  mutable std::mutex mutex_;
  std::map<std::string, rows::TimeMs> times_;
};

// What each bucket holds, counted as it changes and once at the start (measure()).
struct BucketUse {
  std::uint64_t bytes = 0;    // of all versions, and of parts of uploads
  std::uint64_t objects = 0;  // versions that are not markers
};
class Usage {
 public:
  void add(const std::string& bucket, std::int64_t bytes, std::int64_t objects);
  BucketUse of(const std::string& bucket) const;
  std::map<std::string, BucketUse> all() const;
  void set(std::map<std::string, BucketUse> uses);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, BucketUse> uses_;
};

// Reads a version of an object from any offset; keeps its blobs until it ends.
class ObjectReader {
 public:
  ObjectReader(const StoreSetting& setting, BlobPins& pins,
               const std::vector<rows::Extent>& extents, std::vector<rows::Blob> blobs);
  ~ObjectReader();
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  drives::Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into);
  std::vector<std::string> damaged() const;  // blobs of which a shard was lost or wrong
  bool is_held() const;                      // all of it stands in the metadata: no drive is read

 private:
  struct Piece {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::unique_ptr<BlobReader> reader;
  };
  BlobPins& pins_;
  std::vector<Piece> pieces_;
};

struct OpenedObject {
  rows::Version version;
  std::unique_ptr<ObjectReader> reader;
};

// What must hold of the newest version for a write to go on; the ETags of If-Match and
// If-None-Match, "*" for any.
struct WriteCondition {
  std::string if_match = {};
  std::string if_none_match = {};
};
Answer<void> check_condition(const WriteCondition& condition,
                             const std::optional<rows::Version>& head);

struct Removal {
  std::optional<std::string> version_id = {};
  bool bypass_governance = false;
  WriteCondition condition = {};
  bool durable = true;  // else once the metadata are flushed
  // Says no where the version that would go is not the one that is meant (a lifecycle rule's).
  std::function<bool(const rows::Version&)> only = nullptr;
};
struct Removed {
  std::string version_id;  // of the marker put, or of the version removed
  bool marker = false;     // a marker was put, or what was removed was one
};

class Store {
 public:
  explicit Store(StoreSetting setting);
  // Takes the number of this run; blobs are named by it.
  Answer<void> open();
  // Says that this run still lives; where others have given it up it takes another number, and what
  // was under way is refused.
  Answer<void> renew();
  // Where others share the metadata: the commit stands only while the run that wrote the files it
  // names anew has not been given up, for then they are swept.
  void fence(rows::Commit& commit, const std::vector<rows::Blob>& fresh) const;
  void fence_run(rows::Commit& commit, std::uint64_t run) const;

  Answer<rows::Bucket> bucket(std::string_view name);
  Answer<void> make_bucket(const rows::Bucket& bucket);
  Answer<void> change_bucket(std::string_view name,
                             const std::function<Answer<void>(rows::Bucket&)>& change);
  Answer<void> remove_bucket(std::string_view name);
  Answer<std::vector<rows::Bucket>> buckets(std::string_view owner);

  // The newest version, or the one of that id. A marker is found too.
  Answer<rows::Version> find(std::string_view bucket, std::string_view key,
                             const std::optional<std::string>& version_id);
  // Finds and opens it; `accept` may refuse the version that was found.
  Answer<OpenedObject> open_object(std::string_view bucket, std::string_view key,
                                   const std::optional<std::string>& version_id,
                                   const std::function<Answer<void>(const rows::Version&)>& accept);
  // Reads these extents of a version, whichever of its copies they are.
  Answer<std::unique_ptr<ObjectReader>> open_extents(const std::vector<rows::Extent>& extents);
  // Gives the version as it stands: stamp, id, time and default retention are set here.
  Answer<rows::Version> put(std::string_view bucket, std::string_view key,
                            const rows::Version& fresh, const std::vector<rows::Blob>& blobs,
                            const WriteCondition& condition = {});
  Answer<Removed> remove(std::string_view bucket, std::string_view key, const Removal& removal);
  // Blobs that the version names no more are discarded; `fresh` are those it names anew.
  Answer<rows::Version> change_version(std::string_view bucket, std::string_view key,
                                       const std::optional<std::string>& version_id,
                                       const std::function<Answer<void>(rows::Version&)>& change,
                                       const std::vector<rows::Blob>& fresh = {});

  Answer<std::string> begin_upload(rows::Upload upload);
  Answer<rows::Upload> upload(std::string_view bucket, std::string_view key, std::string_view id);
  Answer<void> put_part(const rows::Upload& upload, const rows::Part& part,
                        const std::optional<rows::Blob>& blob);
  Answer<std::vector<rows::Part>> parts(std::string_view upload);
  // `version` has the extents of the parts that were chosen; the others are discarded.
  Answer<rows::Version> complete_upload(const rows::Upload& upload, const rows::Version& version,
                                        const WriteCondition& condition);
  Answer<void> abort_upload(std::string_view bucket, std::string_view key, std::string_view id);

  // A blob to be written into the tier of a storage class; the first tier where there is none.
  // `expected` bytes will come; 0 where that is not known.
  BlobWriter writer(std::string_view storage_class, std::uint64_t expected = 0);
  bool has_tier(std::string_view storage_class) const;
  // Removes what an unfinished writer wrote.
  void forget(const rows::Blob& blob);
  // Removes the shards of garbage that nobody reads; gives how many blobs went.
  Answer<std::size_t> collect();

  rows::Metadata& metadata() { return setting_.metadata; }
  const StoreSetting& setting() const { return setting_; }
  std::uint64_t epoch() const { return epoch_; }
  // Of a shard that is written anew, after this one; no two gateways write the same.
  std::uint64_t fresh_revision(std::uint64_t last) const;
  BlobPins& pins() { return pins_; }
  ReadTimes& reads() { return reads_; }
  Usage& usage() { return usage_; }
  // Counts what the buckets hold: before anything is asked, and now and then where others change
  // it.
  Answer<void> measure();
  rows::TimeMs now_ms() const { return setting_.now_ms(); }
  std::string fresh_id();  // 32 hexadecimal digits
  // The records of the blobs of a version; kRowChanged where one has none, because the version was
  // replaced meanwhile. Who has looked often enough passes over it: then the row is lost.
  Answer<std::vector<rows::Blob>> blobs_of(const std::vector<rows::Extent>& extents,
                                           bool pass_over = false);

 private:
  struct Viewed {
    rows::Bucket bucket;
    KeyView view;
  };
  Answer<Viewed> view(std::string_view bucket, std::string_view key);
  Answer<void> check_running(const std::vector<rows::Blob>& fresh);
  Answer<void> check_room() const;
  bool is_ripe(const std::string& garbage);
  Answer<void> abort_uploads(std::string_view bucket);
  Answer<void> fill_next(KeyView& view);
  Answer<void> fill_null(KeyView& view);
  Answer<std::optional<ReadVersion>> old_version(const KeyView& view, std::string_view id);
  Answer<std::optional<ReadVersion>> named_version(const KeyView& view,
                                                   const std::optional<std::string>& id);
  Answer<std::optional<Removed>> try_remove(const Viewed& viewed, const Removal& removal,
                                            bool pass_over);
  Answer<std::optional<rows::Version>> try_put(Viewed viewed, rows::Version fresh,
                                               const std::vector<rows::Blob>& blobs,
                                               const rows::Commit& besides, bool pass_over);
  Answer<rows::Version> put_with(std::string_view bucket, std::string_view key,
                                 const rows::Version& fresh, const std::vector<rows::Blob>& blobs,
                                 const WriteCondition& condition,
                                 const std::function<Answer<rows::Commit>()>& besides);
  std::uint64_t fresh_stamp();
  void count(const std::string& bucket, const rows::Version& version, int sign);

  StoreSetting setting_;
  BlobPins pins_;
  ReadTimes reads_;
  Usage usage_;
  std::atomic<std::uint64_t> epoch_ = 0;
  std::uint64_t first_blob_ = 0;  // drawn: names are not used again, whatever happens to the rows
  std::atomic<std::uint64_t> blobs_made_ = 0;
  std::atomic<std::uint64_t> last_stamp_ = 0;
  std::map<std::string, rows::TimeMs> garbage_seen_;  // of collect()
  std::string garbage_after_;
};

// Why a version may not be removed or replaced now: under legal hold, or retained.
Answer<void> check_unlocked(const rows::Version& version, rows::TimeMs now, bool bypass_governance);

}  // namespace orrery::store
