// The probe of a folder: blocks, metadata, small files compared with shards, JPEG decoding and a
// checkpoint burst, each measured several times.
//
// Each repeat measures all figures in turn, so temporary other load widens every interval a little
// instead of spoiling one figure. Everything is written in one folder of the probe's own, which is
// removed at the end, also after Ctrl-C. If the target is a file, it is only read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "live/agent/io_ring.h"
#include "live/agent/probe_report.h"

namespace orrery::agent {

enum class ProbePart { sequential, random, metadata, samples, decode, checkpoint };
std::string_view to_text(ProbePart part);
std::optional<ProbePart> probe_part(std::string_view word);
std::vector<ProbePart> all_probe_parts();

// Called with the next measurement and the completed share of the whole probe (0 to 1).
using ProbeProgress = std::function<void(std::string_view what, double done)>;

struct FolderProbe {
  std::string path;
  std::vector<ProbePart> parts = all_probe_parts();
  std::uint64_t file_bytes = std::uint64_t{1} << 30;
  std::size_t block_bytes = std::size_t{1} << 20;
  int depth = 8;
  std::size_t random_bytes = 4096;
  int random_depth = 32;
  double seconds = 3;  // time limit of one measurement
  int repeats = 5;
  int threads = 4;  // for files, shards and the checkpoint
  int cores = 1;    // for decoding
  int files = 2000;
  int samples = 500;
  std::uint64_t checkpoint_bytes = std::uint64_t{512} << 20;
  bool direct = true;
  std::optional<IoEngine> engine;  // nullopt: io_uring if the kernel allows it
  std::uint64_t seed = 1;
  std::function<bool()> stop = [] { return false; };
  ProbeProgress progress = [](std::string_view, double) {};
};

Result<ProbeReport> probe_folder(const FolderProbe& probe);

}  // namespace orrery::agent
