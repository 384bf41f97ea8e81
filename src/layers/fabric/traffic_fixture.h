// Patterns of traffic that tests send: a ring in step, and many to one.
#pragma once

#include <vector>

#include "layers/fabric/traffic.h"

namespace orrery::fabric {

// Endpoint i sends to i + shift, modulo the number of endpoints.
inline std::vector<Message> ring_shift(int endpoints, int shift, Bytes each) {
  std::vector<Message> out;
  for (int s = 0; s < endpoints; ++s) out.push_back({s, (s + shift) % endpoints, each.base()});
  return out;
}

// The first `senders` endpoints other than the receiver send to it.
inline std::vector<Message> incast(int endpoints, int senders, VertexId receiver, Bytes each) {
  std::vector<Message> out;
  for (int s = 0; s < endpoints && static_cast<int>(out.size()) < senders; ++s) {
    if (s != receiver) out.push_back({s, receiver, each.base()});
  }
  return out;
}

}  // namespace orrery::fabric
