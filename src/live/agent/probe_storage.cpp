#include "live/agent/probe_storage.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/storage/probe_sizes.h"
#include "live/agent/checkpoint_burst.h"
#include "live/agent/jpeg_decode.h"
#include "live/agent/probe_files.h"
#include "live/agent/probe_folder.h"

namespace orrery::agent {
namespace {

struct PartName {
  ProbePart part;
  std::string_view word;
};
constexpr PartName kParts[] = {
    {ProbePart::sequential, "sequential"}, {ProbePart::random, "random"},
    {ProbePart::metadata, "metadata"},     {ProbePart::samples, "samples"},
    {ProbePart::decode, "decode"},         {ProbePart::checkpoint, "checkpoint"}};

constexpr int kCommits = 200;

std::string size_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return significant(bytes, 4) + ' ' + units[unit];
}

// The state of one probe: what is open and what was measured.
class FolderRun {
 public:
  explicit FolderRun(const FolderProbe& probe) : probe_(probe) {
    report_.target = probe.path;
    report_.kind = "folder";
  }

  Result<ProbeReport> run() {
    if (!open_place()) return std::unexpected(faults_);
    choose_engine();
    describe();
    if (wants_blocks() && !lay_out()) return std::unexpected(faults_);
    for (int i = 0; i < probe_.repeats && !ended(); ++i) round(i);
    if (faults_.empty()) {
      finish();
      return std::move(report_);
    }
    return std::unexpected(faults_);
  }

 private:
  bool wants(ProbePart p) const { return std::ranges::find(probe_.parts, p) != probe_.parts.end(); }
  bool wants_blocks() const { return wants(ProbePart::sequential) || wants(ProbePart::random); }
  bool ended() {
    if (probe_.stop()) report_.interrupted = true;
    return report_.interrupted || !faults_.empty();
  }
  bool reads_only() const { return !folder_; }

  std::uint64_t needed_bytes() const {
    std::uint64_t most = wants_blocks() ? probe_.file_bytes : 0;
    most += std::max<std::uint64_t>(
        wants(ProbePart::checkpoint) ? probe_.checkpoint_bytes : 0,
        wants(ProbePart::samples)
            ? storage::kProbeSampleBytes * static_cast<std::uint64_t>(probe_.samples)
            : 0);
    return most;
  }

  bool open_place() {
    struct stat facts{};
    if (stat(probe_.path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) {
      return open_to_read(static_cast<std::uint64_t>(facts.st_size));
    }
    auto made = ProbeFolder::make(probe_.path, needed_bytes());
    if (!made) return faults_ = made.error(), false;
    folder_.emplace(std::move(*made));
    return true;
  }

  bool open_to_read(std::uint64_t bytes) {
    report_.kind = "file";
    int file = probe_.direct ? open(probe_.path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
    direct_ = file >= 0;
    if (file < 0) file = open(probe_.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      faults_ = {system_fault(probe_.path, "the file cannot be read", errno)};
      return false;
    }
    file_ = OpenFile(file);
    span_ = std::min(bytes, probe_.file_bytes) / probe_.block_bytes * probe_.block_bytes;
    if (span_ == 0) {
      faults_ = {{.code = "probe.short",
                  .place = {.file = probe_.path},
                  .what = "the file is shorter than one block",
                  .why = "",
                  .fix = "give a folder; the probe then creates its own file there"}};
    }
    return span_ > 0;
  }

  void choose_engine() {
    std::string why;
    engine_ = probe_.engine.value_or(IoEngine::io_uring);
    if (engine_ == IoEngine::threads || io_uring_works(why)) return;
    engine_ = IoEngine::threads;
    report_.notices.push_back(
        fmt::format("the kernel refuses io_uring ({}): threads use pread and pwrite instead", why));
  }

  void describe() {
    const auto system = file_system_of(probe_.path);
    if (system) {
      report_.conditions.emplace_back("file_system", system->name);
      if (system->in_memory) {
        report_.notices.push_back(
            "this is tmpfs: the figures describe memory, not a storage device");
      }
    }
    report_.conditions.emplace_back("engine", to_text(engine_));
    report_.conditions.emplace_back("seed", std::to_string(probe_.seed));
  }

  // The file is written once before anything is measured, because a first write would also measure
  // the allocation of blocks.
  bool lay_out() {
    span_ = reads_only() ? span_ : probe_.file_bytes / probe_.block_bytes * probe_.block_bytes;
    if (!reads_only()) {
      auto made = open_nameless(*folder_, probe_.direct);
      if (!made) return faults_ = made.error(), false;
      file_ = std::move(made->file);
      direct_ = made->direct;
      probe_.progress("writing the file", 0);
      const IoRun written = run_io(block_plan(true, false, span_, 3600), engine_);
      if (!written.fault.empty()) return faults_ = {io_fault(written.fault)}, false;
      span_ = std::max<std::uint64_t>(written.bytes, probe_.block_bytes);
      fsync(file_.get());
    }
    report_.conditions.emplace_back("file", size_text(static_cast<double>(span_)));
    report_.conditions.emplace_back("caching", direct_ ? "O_DIRECT" : "page cache");
    if (!direct_) {
      report_.notices.push_back(
          "without O_DIRECT: writes are timed until flushed, and reads may come from memory");
    }
    return true;
  }

  IoPlan block_plan(bool write, bool random, std::uint64_t bytes_max, double seconds) const {
    return {.file = file_.get(),
            .write = write,
            .random = random,
            .block_bytes = random ? probe_.random_bytes : probe_.block_bytes,
            .depth = random ? probe_.random_depth : probe_.depth,
            .span_bytes = span_,
            .seconds_max = seconds,
            .bytes_max = bytes_max,
            .seed = probe_.seed,
            .stop = probe_.stop};
  }

  Diagnostic io_fault(const std::string& what) const {
    return {.code = "probe.io",
            .place = {.file = probe_.path},
            .what = "a measurement failed: " + what,
            .why = "",
            .fix = "the storage reported this error; check its log"};
  }

  // Returns false once the probe has ended: an incomplete figure is not kept.
  bool keep(const std::string& fault) {
    if (!fault.empty() && faults_.empty()) faults_ = {io_fault(fault)};
    return !ended();
  }

  void round(int number) {
    std::vector<std::pair<ProbePart, void (FolderRun::*)()>> all = {
        {ProbePart::sequential, &FolderRun::sequential},
        {ProbePart::random, &FolderRun::random},
        {ProbePart::metadata, &FolderRun::metadata},
        {ProbePart::samples, &FolderRun::samples},
        {ProbePart::decode, &FolderRun::decode},
        {ProbePart::checkpoint, &FolderRun::checkpoint}};
    std::erase_if(all, [this](const auto& p) { return !wants(p.first) || !possible(p.first); });
    for (std::size_t i = 0; i < all.size() && !ended(); ++i) {
      const double done =
          (number + static_cast<double>(i) / static_cast<double>(all.size())) / probe_.repeats;
      probe_.progress(to_text(all[i].first), done);
      (this->*all[i].second)();
    }
  }

  bool possible(ProbePart part) const {
    return !reads_only() || part == ProbePart::sequential || part == ProbePart::random ||
           part == ProbePart::decode;
  }

  // Bytes and operations per second of one run; buffered writes count until they are flushed.
  IoRun block_run(bool write, bool random) {
    if (!direct_) posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
    IoRun run = run_io(block_plan(write, random, 0, probe_.seconds), engine_);
    if (write && !direct_) {
      const double before = now_s();
      fsync(file_.get());
      run.seconds += now_s() - before;
    }
    return run;
  }

  static double now_s() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }

  void sequential() {
    const std::string how =
        fmt::format(", {} blocks, {} in flight", size_text(static_cast<double>(probe_.block_bytes)),
                    probe_.depth);
    const IoRun read = block_run(false, false);
    if (!keep(read.fault)) return;
    report_.add({"sequential_read", "sequential read" + how}, read.bytes_per_s());
    report_.add({"sequential_read_cores", "CPU cores busy during the read", ProbeUnit::factor},
                read.cpu_share);
    if (reads_only()) return;
    const IoRun write = block_run(true, false);
    if (keep(write.fault)) {
      report_.add({"sequential_write", "sequential write" + how}, write.bytes_per_s());
    }
  }

  void random() {
    const std::string how =
        fmt::format(", {} blocks, {} in flight",
                    size_text(static_cast<double>(probe_.random_bytes)), probe_.random_depth);
    const IoRun read = block_run(false, true);
    if (!keep(read.fault)) return;
    report_.add({"random_read", "random read" + how, ProbeUnit::per_s}, read.per_s());
    report_.add({"random_read_p99", "random read latency, 99th percentile", ProbeUnit::seconds},
                read.latency_p99_s);
    IoPlan one = block_plan(false, true, 0, std::min(probe_.seconds, 1.0));
    one.depth = 1;
    const IoRun alone = run_io(one, engine_);
    if (!keep(alone.fault)) return;
    report_.add({"first_byte", "latency of a single random read, median", ProbeUnit::seconds},
                alone.latency_p50_s);
    if (reads_only()) return;
    const IoRun write = block_run(true, true);
    if (keep(write.fault)) {
      report_.add({"random_write", "random write" + how, ProbeUnit::per_s}, write.per_s());
    }
  }

  FilesPlan files_plan(int files) const {
    return {.folder = folder_->path(),
            .threads = probe_.threads,
            .files = files,
            .seconds_max = probe_.seconds,
            .stop = probe_.stop};
  }

  void metadata() {
    const MetadataRates rates = measure_metadata(files_plan(probe_.files));
    if (!keep(rates.fault)) return;
    const std::string how = fmt::format(", {} threads", probe_.threads);
    report_.add({"creates", "empty files created" + how, ProbeUnit::per_s}, rates.creates_per_s);
    report_.add({"stats", "files looked up" + how, ProbeUnit::per_s}, rates.stats_per_s);
    report_.add({"unlinks", "files removed" + how, ProbeUnit::per_s}, rates.unlinks_per_s);
    const CommitRate commits = measure_commits(files_plan(kCommits));
    if (!keep(commits.fault)) return;
    report_.add({"commits", "small files made durable: fsync, rename, fsync", ProbeUnit::per_s},
                commits.per_s);
  }

  void samples() {
    const SampleRates rates = measure_samples({.files = files_plan(probe_.samples)});
    if (!keep(rates.fault)) return;
    const std::string files = fmt::format("{} kB files, ", storage::kProbeSampleBytes / 1000);
    report_.add({"small_file_read", "read " + files + "cold"}, rates.file_read_bytes_per_s);
    report_.add({"shard_read", "read the same bytes as shards"}, rates.shard_read_bytes_per_s);
    report_.add({"small_file_write", "write " + files + "flushed"}, rates.file_write_bytes_per_s);
    report_.add({"shard_write", "write the same bytes as shards, flushed"},
                rates.shard_write_bytes_per_s);
  }

  void decode() {
    if (picture_.empty()) picture_ = encode_picture({}, probe_.seed);
    if (picture_.empty()) return keep("the probe could not create a JPEG"), void();
    const double seconds = std::min(probe_.seconds, 1.0);
    const DecodeRate one = measure_decode(picture_, 1, seconds, probe_.stop);
    if (ended()) return;
    const std::string how = fmt::format(" of 500 x 375, {} kB", picture_.size() / 1000);
    report_.add({"decode_core", "JPEGs" + how + ", per core", ProbeUnit::per_s},
                one.per_core_per_s);
    const DecodeRate all = measure_decode(picture_, probe_.cores, seconds, probe_.stop);
    if (ended()) return;
    report_.add({"decode_all", fmt::format("JPEGs, all {} cores", probe_.cores), ProbeUnit::per_s},
                all.all_per_s);
  }

  void checkpoint() {
    const BurstTimes times = run_burst({.folder = folder_->path(),
                                        .writers = probe_.threads,
                                        .bytes = probe_.checkpoint_bytes,
                                        .seed = probe_.seed,
                                        .stop = probe_.stop});
    if (!keep(times.fault)) return;
    const auto bytes = static_cast<double>(times.bytes);
    const std::string what =
        fmt::format("checkpoint of {}, {} writers: ", size_text(bytes), probe_.threads);
    report_.add({"checkpoint_stall_end", what + "end of stall", ProbeUnit::seconds},
                times.stall_end_s);
    report_.add({"checkpoint_safe", what + "time until durable", ProbeUnit::seconds}, times.safe_s);
    report_.add({"checkpoint_rate", "checkpoint bytes made durable"}, bytes / times.safe_s);
  }

  void finish() {
    const ProbeFigure* small = report_.figure("small_file_read");
    const ProbeFigure* shard = report_.figure("shard_read");
    if (small && shard && small->value() > 0) {
      report_.add(
          {"small_file_penalty", "read speed of shards relative to small files", ProbeUnit::factor},
          shard->value() / small->value());
    }
  }

  const FolderProbe& probe_;
  ProbeReport report_;
  Diagnostics faults_;
  std::optional<ProbeFolder> folder_;
  OpenFile file_;
  std::uint64_t span_ = 0;
  bool direct_ = false;
  IoEngine engine_ = IoEngine::io_uring;
  std::string picture_;
};

}  // namespace

std::string_view to_text(ProbePart part) {
  const auto* at = std::ranges::find(kParts, part, &PartName::part);
  return at->word;
}

std::optional<ProbePart> probe_part(std::string_view word) {
  const auto* at = std::ranges::find(kParts, word, &PartName::word);
  return at == std::end(kParts) ? std::nullopt : std::optional(at->part);
}

std::vector<ProbePart> all_probe_parts() {
  std::vector<ProbePart> all;
  for (const PartName& p : kParts) all.push_back(p.part);
  return all;
}

Result<ProbeReport> probe_folder(const FolderProbe& probe) { return FolderRun(probe).run(); }

}  // namespace orrery::agent
