// A power supply for simulated ports that fails at a chosen call.
#pragma once

namespace orrery::drives {

// Counts the calls to all ports of a run; from call `limit` on, the power is off.
struct Power {
  int calls = 0;
  int limit = -1;
  bool gone() { return limit >= 0 && calls > limit; }
  bool fails() {
    ++calls;
    return gone();
  }
};

}  // namespace orrery::drives
