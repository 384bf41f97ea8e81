// Disk space held in reserve for the metadata: a file of a few megabytes next to it. When the disk
// is full, the file is removed so that removals, checks and a clean stop still work.
//
// Until the reserve is back, requests that make the store larger are refused (507) and those that
// make it smaller continue. Once there is space again, the file is created again.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace orrery::store {

class Reserve {
 public:
  explicit Reserve(std::string folder) : folder_(std::move(folder)) {}

  // Releases the reserve if the disk is nearly full; otherwise restores it.
  void tend();
  // Returns true if so little space is left that nothing may be added.
  bool is_tight() const { return tight_; }
  // Returns true if there is enough space to open the metadata for writing; releases the reserve if
  // needed.
  bool has_room();

 private:
  std::string file() const { return folder_ + "/reserve"; }
  void take(std::uint64_t free_bytes);

  std::string folder_;
  std::atomic<bool> tight_ = false;
};

}  // namespace orrery::store
