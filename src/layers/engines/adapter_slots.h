// Which adapters (LoRA) of many are on a replica's device, and who may join a step.
//
// A device has `slots` for adapters. All of a step's must be there: a request whose adapter no
// other of the step has waits where `slots` distinct ones are held already, whatever else is free
// (vLLM max_loras, SGLang max_loras_per_batch, TensorRT-LLM pages of its PEFT cache). An adapter
// that is used and lies in no slot is loaded, into the slot whose adapter was used longest ago;
// those of the step itself stay.
//   begin()  of a plan; hold(a) for whoever runs on; may_join(a), then hold(a), for whoever waits
//   use(a)   for each request of the planned batch: counts the distinct ones and what is loaded
// Adapter 0 is the model itself: it takes no slot, but one of SGLang's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::engines {

class AdapterSlots {
 public:
  // 0 slots: adapters are not looked at, and everybody may join.
  explicit AdapterSlots(int slots, bool base_counts = false)
      : slots_(slots), base_counts_(base_counts) {}

  bool is_there() const { return slots_ > 0; }
  void begin();
  bool may_join(int adapter) const {
    return slots_ == 0 || held_ < slots_ || is_held(adapter) || !counts(adapter);
  }
  void hold(int adapter) {
    if (slots_ > 0 && counts(adapter)) mark(adapter);
  }
  void use(int adapter);
  int used() const { return used_; }     // distinct ones of the batch
  int loaded() const { return loads_; }  // of them, from the host's memory

 private:
  struct Adapter {
    std::int64_t held = 0;  // in which plan, last
    std::int64_t used = 0;
    bool resident = false;
  };
  bool counts(int adapter) const { return adapter != 0 || base_counts_; }
  bool is_held(int adapter) const {
    const auto i = static_cast<std::size_t>(adapter);
    return i < all_.size() && all_[i].held == plan_;
  }
  void mark(int adapter);
  void load(int adapter);

  int slots_ = 0;
  bool base_counts_ = false;
  std::int64_t plan_ = 0;
  int held_ = 0;
  int used_ = 0;
  int loads_ = 0;
  std::vector<Adapter> all_;  // by name
  std::vector<int> resident_;
};

}  // namespace orrery::engines
