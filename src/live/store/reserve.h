// Space that the metadata keep for the day when their disk is full: a file of some megabytes beside
// them, which is given back so that a full disk still allows removals, checks and an orderly stop.
//
// While it is given back, what makes the store larger is refused (507) and what makes it smaller
// goes on; once there is room again the file is made anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace orrery::store {

class Reserve {
 public:
  explicit Reserve(std::string folder) : folder_(std::move(folder)) {}

  // Gives the reserve back where the disk is nearly full, and takes it again where it is not.
  void tend();
  // Whether so little is left that nothing may be added.
  bool is_tight() const { return tight_; }
  // Whether there is room to open the metadata for writing, with the reserve given back if need be.
  bool has_room();

 private:
  std::string file() const { return folder_ + "/reserve"; }
  void take(std::uint64_t free_bytes);

  std::string folder_;
  std::atomic<bool> tight_ = false;
};

}  // namespace orrery::store
