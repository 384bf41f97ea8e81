// The store without its protocol: buckets, versions and blobs on top of the two ports (drives and
// metadata).
//
// Every change reads, decides (decide.h) and commits, and starts again if another commit came
// first. So any number of threads may call, and a crash at any point leaves the rows as before or
// after. An object's bytes are durable (blob.h) before the commit that names them, and the commit
// is durable before the call returns: acknowledged objects are kept, and no client sees half an
// object. Bytes that were never committed are swept by the next run (sweep.h).
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

// A code that never reaches a client: the rows changed since they were read. The caller tries
// again, up to kLooks times.
inline constexpr std::string_view kRowChanged = "RowChanged";
inline constexpr int kLooks = 20;

using ClockMs = std::function<rows::TimeMs()>;

struct StoreSetting {
  rows::Metadata& metadata;
  DriveSet drives = {};
  std::vector<Tier> tiers = {};  // the first tier is for objects without a storage class
  ClockMs now_ms;
  std::function<std::string(std::size_t)> random_bytes;
  KeyRing keys = {};
  drives::Hedger* hedger = nullptr;  // used for reads of objects
  // How long removed blobs are kept if other gateways share the metadata, because this run does not
  // know what they are reading. An open file stays readable after its removal, so only a slow
  // reader of an object in many parts may be cut off. 0: no other gateway runs.
  rows::TimeMs shared_grace_ms = 600'000;
  // A run number that the drives have recorded, although the metadata may have lost it. This run
  // takes a higher number.
  std::uint64_t run_after = 0;
  // Returns true if nothing may be added because the disk that holds the metadata is full.
  std::function<bool()> is_tight = nullptr;
  // Returns true if the drives have recorded nothing that the metadata does not know. Only then are
  // files removed that were set aside.
  std::function<bool()> agrees = nullptr;
  // Set by a repair that a person confirmed: complete objects without a row are set aside too.
  bool sweeps_whole = false;
  // How long files that no row refers to stay set aside, counted in healthy time of the store.
  std::uint64_t aside_ms = 7ull * 24 * 3600 * 1000;
};

// Blobs that are being read: collect() keeps them until the last reader is done.
class BlobPins {
 public:
  void pin(const std::string& blob);
  void unpin(const std::string& blob);
  bool pinned(const std::string& blob) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> counts_;
};

// The times at which objects of the slower tiers were last read, as far as this run remembers.
// Objects that are read are copied to the fast tier (tier_places.h).
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

// The size of each bucket, counted once at the start (measure()) and updated with each change.
struct BucketUse {
  std::uint64_t bytes = 0;    // bytes of all versions, and of parts of uploads
  std::uint64_t objects = 0;  // number of versions that are not delete markers
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

// Reads a version of an object from any offset. Its blobs are kept as long as the reader exists.
class ObjectReader {
 public:
  ObjectReader(const StoreSetting& setting, BlobPins& pins,
               const std::vector<rows::Extent>& extents, std::vector<rows::Blob> blobs);
  ~ObjectReader();
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  drives::Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into);
  std::vector<std::string> damaged() const;  // blobs with a lost or wrong shard
  bool is_held() const;                      // the metadata holds all of it, so no drive is read

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

// Conditions on the newest version that allow a write: the ETags of If-Match and If-None-Match, "*"
// for any.
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
  bool durable = true;  // false: durable once the metadata is flushed
  // Returns false if the version found is not the one to remove (used by lifecycle rules).
  std::function<bool(const rows::Version&)> only = nullptr;
};
struct Removed {
  std::string version_id;  // id of the new marker, or of the removed version
  bool marker = false;     // a marker was added, or the removed version was one
};

class Store {
 public:
  explicit Store(StoreSetting setting);
  // Takes the number of this run. Its blobs are named after it.
  Answer<void> open();
  // Marks this run as alive. If other gateways have given it up, it takes another number, and
  // uploads in progress are refused.
  Answer<void> renew();
  // If other gateways share the metadata: makes the commit fail if the run that wrote these blobs
  // has been given up, because their files may already be swept.
  void fence(rows::Commit& commit, const std::vector<rows::Blob>& fresh) const;
  void fence_run(rows::Commit& commit, std::uint64_t run) const;

  Answer<rows::Bucket> bucket(std::string_view name);
  Answer<void> make_bucket(const rows::Bucket& bucket);
  Answer<void> change_bucket(std::string_view name,
                             const std::function<Answer<void>(rows::Bucket&)>& change);
  Answer<void> remove_bucket(std::string_view name);
  Answer<std::vector<rows::Bucket>> buckets(std::string_view owner);

  // Returns the newest version, or the one with that id; it may be a delete marker.
  Answer<rows::Version> find(std::string_view bucket, std::string_view key,
                             const std::optional<std::string>& version_id);
  // Finds the object and opens it. `accept` may refuse the version that was found.
  Answer<OpenedObject> open_object(std::string_view bucket, std::string_view key,
                                   const std::optional<std::string>& version_id,
                                   const std::function<Answer<void>(const rows::Version&)>& accept);
  // Opens these extents of a version or of one of its copies.
  Answer<std::unique_ptr<ObjectReader>> open_extents(const std::vector<rows::Extent>& extents);
  // Returns the version as stored, with its stamp, id, time and default retention.
  Answer<rows::Version> put(std::string_view bucket, std::string_view key,
                            const rows::Version& fresh, const std::vector<rows::Blob>& blobs,
                            const WriteCondition& condition = {});
  Answer<Removed> remove(std::string_view bucket, std::string_view key, const Removal& removal);
  // Discards blobs that the version no longer uses; `fresh` are those that it uses for the first
  // time.
  Answer<rows::Version> change_version(std::string_view bucket, std::string_view key,
                                       const std::optional<std::string>& version_id,
                                       const std::function<Answer<void>(rows::Version&)>& change,
                                       const std::vector<rows::Blob>& fresh = {});

  Answer<std::string> begin_upload(rows::Upload upload);
  Answer<rows::Upload> upload(std::string_view bucket, std::string_view key, std::string_view id);
  Answer<void> put_part(const rows::Upload& upload, const rows::Part& part,
                        const std::optional<rows::Blob>& blob);
  Answer<std::vector<rows::Part>> parts(std::string_view upload);
  // `version` has the extents of the chosen parts. The other parts are discarded.
  Answer<rows::Version> complete_upload(const rows::Upload& upload, const rows::Version& version,
                                        const WriteCondition& condition);
  Answer<void> abort_upload(std::string_view bucket, std::string_view key, std::string_view id);

  // Returns a writer into the tier of a storage class, or into the first tier if the class is
  // empty. `expected` is the number of bytes to come, or 0 if that is unknown.
  BlobWriter writer(std::string_view storage_class, std::uint64_t expected = 0);
  bool has_tier(std::string_view storage_class) const;
  // Removes what an unfinished writer has written.
  void forget(const rows::Blob& blob);
  // Removes the shards of garbage that no reader uses. Returns the number of blobs removed.
  Answer<std::size_t> collect();

  rows::Metadata& metadata() { return setting_.metadata; }
  const StoreSetting& setting() const { return setting_; }
  std::uint64_t epoch() const { return epoch_; }
  // Returns the revision for a shard that is written again after revision `last`. No two gateways
  // use the same one.
  std::uint64_t fresh_revision(std::uint64_t last) const;
  BlobPins& pins() { return pins_; }
  ReadTimes& reads() { return reads_; }
  Usage& usage() { return usage_; }
  // Counts the contents of the buckets: at the start, and from time to time if other gateways
  // change them.
  Answer<void> measure();
  rows::TimeMs now_ms() const { return setting_.now_ms(); }
  std::string fresh_id();  // 32 hexadecimal digits
  // Returns the records of the blobs of a version; kRowChanged if a blob has no row, because the
  // version was replaced. After kLooks tries callers pass `pass_over`: a missing row then counts as
  // lost.
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
  std::uint64_t first_blob_ = 0;  // random, so that names stay unique even if rows are lost
  std::atomic<std::uint64_t> blobs_made_ = 0;
  std::atomic<std::uint64_t> last_stamp_ = 0;
  std::map<std::string, rows::TimeMs> garbage_seen_;  // used by collect()
  std::string garbage_after_;
};

// Fails if a version may not be removed or replaced now, because of a legal hold or its retention
// period.
Answer<void> check_unlocked(const rows::Version& version, rows::TimeMs now, bool bypass_governance);

}  // namespace orrery::store
