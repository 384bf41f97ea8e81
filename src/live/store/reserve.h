// Space that the metadata keep in reserve for a full disk: a file of a few megabytes beside them.
// It is released so that a full disk still allows removals, checks and an orderly stop.
//
// While it is released, requests that make the store larger are refused (507) and those that make
// it smaller go on; once there is room again the file is made again.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace orrery::store {

class Reserve {
 public:
  explicit Reserve(std::string folder) : folder_(std::move(folder)) {}

  // Releases the reserve if the disk is nearly full, and takes it again if it is not.
  void tend();
  // Returns true if so little is left that nothing may be added.
  bool is_tight() const { return tight_; }
  // Returns true if there is room to open the metadata for writing; releases the reserve if needed.
  bool has_room();

 private:
  std::string file() const { return folder_ + "/reserve"; }
  void take(std::uint64_t free_bytes);

  std::string folder_;
  std::atomic<bool> tight_ = false;
};

}  // namespace orrery::store
