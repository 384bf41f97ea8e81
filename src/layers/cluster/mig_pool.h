// Accelerators that are divided into MIG slices as jobs arrive: where an instance goes, and what is
// stranded.
//
// An instance goes to the open accelerator where it has a legal place (mig.h) and strands the
// fewest compute slices. Ties go to the fullest accelerator, and within it to the start that leaves
// the most places for wanted profiles. If an accelerator's layout is fixed, its instances exist
// beforehand and a job takes one of its profile. Instances do not move while a job uses them, so
// gaps remain until their neighbours end.
//   stranded = compute slices that are free on open accelerators where no wanted profile fits
#pragma once

#include <optional>
#include <vector>

#include "layers/cluster/mig.h"

namespace orrery::cluster {

struct MigPlace {
  std::size_t device = 0;
  MigInstance instance;
};

class MigPool {
 public:
  // `wanted` holds the indices of the profiles that jobs request. `fixed` is the layout of every
  // accelerator; if empty, instances are created as jobs arrive.
  MigPool(std::vector<catalog::MigProfile> profiles, std::vector<int> wanted, MigLayout fixed = {});

  // Places an instance; returns nullopt if no open accelerator has room.
  std::optional<MigPlace> place(int profile);
  void leave(const MigPlace& place);
  // Opens one more accelerator and returns its number.
  std::size_t open();
  void close(std::size_t device);

  bool is_empty(std::size_t device) const { return devices_[device].layout.empty(); }
  int devices() const { return open_; }
  int compute_used() const { return used_; }
  int compute_stranded() const { return stranded_; }

 private:
  struct Device {
    bool is_open = false;
    MigLayout layout;  // instances that jobs hold
    int used = 0;
    int stranded = 0;
  };

  bool can_hold(const Device& device, const MigInstance& instance) const;
  std::vector<MigInstance> starts_of(const Device& device, int profile) const;
  int stranded_in(const Device& device) const;
  int places_in(const Device& device) const;  // places left for wanted profiles
  int compute_of(const MigInstance& i) const {
    return profiles_[static_cast<std::size_t>(i.profile)].compute_slices;
  }
  void recount(Device& device);

  std::vector<catalog::MigProfile> profiles_;
  std::vector<int> wanted_;
  MigLayout fixed_;
  std::vector<Device> devices_;
  int open_ = 0;
  int used_ = 0;
  int stranded_ = 0;
};

}  // namespace orrery::cluster
