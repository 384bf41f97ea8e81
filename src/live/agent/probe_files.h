// Thousands of files: the cost of a file system's metadata, and the cost of small files compared
// with shards of the same bytes.
//
// Each thread has its own folder, like loaders and ranks. Before reading, files are flushed and the
// kernel is asked to drop the cached pages; if a file system keeps them (tmpfs), the caller must
// say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "layers/storage/probe_sizes.h"

namespace orrery::agent {

struct FilesPlan {
  std::string folder;  // must not contain files with the names used here
  int threads = 4;
  int files = 2000;
  double seconds_max = 5;
  std::function<bool()> stop = {};
};

struct MetadataRates {
  double creates_per_s = 0;
  double stats_per_s = 0;
  double unlinks_per_s = 0;
  std::string fault;  // empty if nothing failed
};
MetadataRates measure_metadata(const FilesPlan& plan);

// Commits of a small file: write, fsync, rename, fsync of the folder. One thread.
struct CommitRate {
  double per_s = 0;
  std::string fault;
};
CommitRate measure_commits(const FilesPlan& plan);

struct SamplesPlan {
  FilesPlan files;  // here the number of files is the number of samples
  std::size_t sample_bytes = storage::kProbeSampleBytes;
  std::size_t shard_bytes = storage::kProbeShardBytes;
};
struct SampleRates {
  double file_write_bytes_per_s = 0;  // including the flush
  double shard_write_bytes_per_s = 0;
  double file_read_bytes_per_s = 0;
  double shard_read_bytes_per_s = 0;
  std::string fault;
};
// Writes and reads the same samples as one file each, and packed into shards.
SampleRates measure_samples(const SamplesPlan& plan);

}  // namespace orrery::agent
