// Which adapters (LoRA) are loaded on a replica's device, and which requests may join a step.
//
// A device has `slots` for adapters, and all adapters of a step must be loaded. If the step already
// uses `slots` distinct adapters, a request that needs another one waits, whatever else is free
// (vLLM max_loras, SGLang max_loras_per_batch, TensorRT-LLM pages of its PEFT cache). An adapter
// that is used and not loaded replaces the one used longest ago; those of the step itself stay.
//   begin()  starts a plan; hold(a) for each running request; for each waiting request
//            may_join(a), then hold(a)
//   use(a)   for each request of the planned batch: counts distinct adapters and loads
// Adapter 0 is the model itself. It takes no slot, except in SGLang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::engines {

class AdapterSlots {
 public:
  // With 0 slots adapters are ignored and every request may join.
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
  int used() const { return used_; }     // distinct adapters of the batch
  int loaded() const { return loads_; }  // adapters of the batch loaded from host memory

 private:
  struct Adapter {
    std::int64_t held = 0;  // number of the last plan that held it
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
  std::vector<Adapter> all_;  // indexed by adapter name
  std::vector<int> resident_;
};

}  // namespace orrery::engines
