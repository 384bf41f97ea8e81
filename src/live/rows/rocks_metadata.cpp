#include "live/rows/rocks_metadata.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace orrery::rows {
namespace {

// Commits without a common stripe are synced together.
constexpr std::size_t kStripes = 8192;
// The resident memory of a store stays under 300 MB whatever its size: RocksDB keeps only blocks,
// two write buffers and the readers of the tables.
constexpr std::size_t kBlockCacheBytes = std::size_t{48} << 20;
constexpr std::size_t kWriteBufferBytes = std::size_t{16} << 20;
constexpr int kOpenFilesMax = 256;
// By default RocksDB allocates 4 MiB of disk for each MANIFEST, and starts a new one at each start.
constexpr std::size_t kManifestPlacesBytes = std::size_t{64} << 10;

drives::Fault fault_of(const rocksdb::Status& status) {
  const drives::PortFault kind = status.IsNoSpace()      ? drives::PortFault::full
                                 : status.IsCorruption() ? drives::PortFault::corrupt
                                                         : drives::PortFault::failed;
  return {kind, "metadata: " + status.ToString()};
}

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }
std::string_view view(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

class RocksCursor final : public Cursor {
 public:
  explicit RocksCursor(std::unique_ptr<rocksdb::Iterator> at) : at_(std::move(at)) {}
  void seek(std::string_view key) override { at_->Seek(slice(key)); }
  void next() override { at_->Next(); }
  bool valid() const override { return at_->Valid(); }
  std::string_view key() const override { return view(at_->key()); }
  std::string_view value() const override { return view(at_->value()); }
  drives::Outcome<void> state() const override {
    const rocksdb::Status status = at_->status();
    if (status.ok()) return {};
    return std::unexpected(fault_of(status));
  }

 private:
  std::unique_ptr<rocksdb::Iterator> at_;
};

class RocksMetadata final : public Metadata {
 public:
  explicit RocksMetadata(std::unique_ptr<rocksdb::DB> db)
      : db_(std::move(db)), commits_(db_->GetLatestSequenceNumber()) {}

  drives::Outcome<std::optional<std::string>> get(std::string_view key) override {
    std::string value;
    const rocksdb::Status status = db_->Get({}, slice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return std::unexpected(fault_of(status));
    return value;
  }

  drives::Outcome<bool> commit(const Commit& commit) override {
    const auto locks = locked(commit);
    for (const RowChange& expected : commit.expects) {
      const auto found = get(expected.key);
      if (!found) return std::unexpected(found.error());
      if (*found != expected.value) return false;
    }
    rocksdb::WriteBatch batch;
    for (const RowChange& change : commit.changes) {
      if (change.value) {
        batch.Put(change.key, *change.value);
      } else {
        batch.Delete(change.key);
      }
    }
    rocksdb::WriteOptions how;
    how.sync = commit.durable;
    const std::uint64_t begun = commit.durable ? lazy_begun_.load() : ++lazy_begun_;
    const bool all_ended = lazy_ended_ == begun;
    const rocksdb::Status status = db_->Write(how, &batch);
    if (!commit.durable) ++lazy_ended_;
    if (!status.ok()) return std::unexpected(fault_of(status));
    // Everything visible now is synced, unless a commit that is not durable came in between.
    const std::uint64_t last = db_->GetLatestSequenceNumber();
    if (commit.durable && all_ended && lazy_begun_ == begun) count(last);
    return true;
  }

  drives::Outcome<void> flush() override {
    const std::uint64_t last = db_->GetLatestSequenceNumber();
    const rocksdb::Status status = db_->SyncWAL();
    if (!status.ok()) return std::unexpected(fault_of(status));
    count(last);
    return {};
  }

  std::uint64_t commits() const override { return commits_; }

  drives::Outcome<void> check_files() override {
    const rocksdb::Status status = db_->VerifyChecksum();
    if (!status.ok()) return std::unexpected(fault_of(status));
    return {};
  }

  std::unique_ptr<Cursor> cursor() override {
    return std::make_unique<RocksCursor>(std::unique_ptr<rocksdb::Iterator>(db_->NewIterator({})));
  }

  // Old values stay in the log until its rows are written to tables, and in tables until those are
  // merged.
  drives::Outcome<void> forget_before(std::string_view prefix) override {
    rocksdb::Status status = db_->Flush({});
    const std::string begin(prefix);
    const std::string end = begin + '\xff';
    const rocksdb::Slice from = slice(begin);
    const rocksdb::Slice to = slice(end);
    rocksdb::CompactRangeOptions how;
    how.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    if (status.ok()) status = db_->CompactRange(how, &from, &to);
    if (!status.ok()) return std::unexpected(fault_of(status));
    return {};
  }

 private:
  struct Locks {
    std::vector<std::unique_lock<std::shared_mutex>> alone;
    std::vector<std::shared_lock<std::shared_mutex>> shared;
  };
  // Locks in the order of the stripes, so that no two commits wait for each other. Rows that are
  // only read (such as a bucket's row, which every put reads) are locked shared.
  Locks locked(const Commit& commit) {
    std::map<std::size_t, bool> wanted;  // true: exclusive
    const auto stripe = [](const RowChange& row) {
      return std::hash<std::string>{}(row.key) % kStripes;
    };
    for (const RowChange& row : commit.expects) wanted.emplace(stripe(row), false);
    for (const RowChange& row : commit.changes) wanted[stripe(row)] = true;
    Locks locks;
    for (const auto& [at, alone] : wanted) {
      if (alone) {
        locks.alone.emplace_back(stripes_[at]);
      } else {
        locks.shared.emplace_back(stripes_[at]);
      }
    }
    return locks;
  }

  void count(std::uint64_t last) {
    std::uint64_t before = commits_;
    while (before < last && !commits_.compare_exchange_weak(before, last)) {
    }
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::atomic<std::uint64_t> commits_;
  // Number of non-durable commits begun, and ended.
  std::atomic<std::uint64_t> lazy_begun_ = 0;
  std::atomic<std::uint64_t> lazy_ended_ = 0;
  std::array<std::shared_mutex, kStripes> stripes_;
};

class FilesListener final : public rocksdb::EventListener {
 public:
  explicit FilesListener(std::function<void()> changed) : changed_(std::move(changed)) {}
  void tell() {
    const std::scoped_lock lock(mutex_);
    changed_();
  }
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { tell(); }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override { tell(); }

 private:
  std::mutex mutex_;
  std::function<void()> changed_;
};

rocksdb::Options options_for(RocksOpening how) {
  rocksdb::Options options;
  options.create_if_missing = how == RocksOpening::make;
  options.write_buffer_size = kWriteBufferBytes;
  options.max_write_buffer_number = 2;
  options.max_open_files = kOpenFilesMax;
  options.keep_log_file_num = 2;
  options.compression = rocksdb::kNoCompression;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  options.manifest_preallocation_size = kManifestPlacesBytes;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  table.cache_index_and_filter_blocks = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// For a missing table RocksDB names the file by the extension that its earlier versions used.
std::string words_of(const rocksdb::Status& status) {
  std::string text = status.ToString();
  for (std::size_t at = text.find(".ldb"); at != text.npos; at = text.find(".ldb", at))
    text.replace(at, 4, ".sst");
  return text;
}

// Returns the logs of the metadata as text. RocksDB does not say in which of them a record is
// damaged.
std::string logs_in(const std::string& folder) {
  std::vector<std::string> logs;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".log") logs.push_back(at->path().filename().string());
  }
  std::ranges::sort(logs);
  std::string text;
  for (const std::string& log : logs) text += (text.empty() ? "" : " or ") + log;
  return text;
}

std::unexpected<Diagnostics> open_fault(const std::string& folder, const rocksdb::Status& status) {
  Diagnostic said{.code = "store.metadata", .place = {folder}};
  if (status.IsNoSpace()) {
    said.what = "there is no disk space for the metadata: " + words_of(status);
    said.fix = "free space on the disk that holds this folder";
  } else if (status.IsIOError()) {
    said.what = "the metadata cannot be opened: " + words_of(status);
    said.why = "another program may be using it, or the disk is failing";
    said.fix = "stop the other program, and check that the disk can be read";
  } else {
    said.what = "the metadata is damaged: " + words_of(status);
    // Every other damaged file is in the text, with the folder.
    if (said.what.find(folder) == said.what.npos) said.what += ", in " + logs_in(folder);
    said.why = "a file in this folder is missing, truncated or changed; nothing was written";
    said.fix =
        "restore the file, or restore this folder from a backup (docs/guide/store-operations.md)";
  }
  return fail(said);
}

}  // namespace

Result<std::unique_ptr<Metadata>> open_rocks_metadata(const std::string& folder, RocksOpening how,
                                                      const std::function<void()>& files_changed) {
  rocksdb::DB* made = nullptr;
  rocksdb::Options options = options_for(how);
  std::shared_ptr<FilesListener> listener;
  if (files_changed) {
    listener = std::make_shared<FilesListener>(files_changed);
    options.listeners.push_back(listener);
  }
  const rocksdb::Status status = how == RocksOpening::look
                                     ? rocksdb::DB::OpenForReadOnly(options, folder, &made)
                                     : rocksdb::DB::Open(options, folder, &made);
  std::unique_ptr<rocksdb::DB> db(made);
  if (!status.ok()) return open_fault(folder, status);
  if (listener) listener->tell();
  return std::make_unique<RocksMetadata>(std::move(db));
}

std::optional<Diagnostic> missing_right(const std::string& folder, bool writes) {
  const auto refused = [](const std::string& path, int right) {
    return ::access(path.c_str(), right) != 0 && errno == EACCES;
  };
  const auto said = [](const std::string& path, const char* what) {
    return Diagnostic{
        .code = "store.metadata",
        .place = {path},
        .what = what,
        .why = "the file system denied access",
        .fix = "start the store as the user who owns the folder, or grant this user access"};
  };
  if (refused(folder, R_OK | X_OK)) {
    return said(folder, "this user has no permission to read the folder");
  }
  if (writes && refused(folder, W_OK)) {
    return said(folder, "this user has no permission to write to the folder");
  }
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = at->path().string();
    if (refused(path, R_OK)) return said(path, "this user has no permission to read the file");
  }
  return std::nullopt;
}

}  // namespace orrery::rows
