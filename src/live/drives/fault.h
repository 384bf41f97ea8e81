// What may go wrong below a request: at a drive or in the metadata, as a value.
//
// A fault of a port is not the user's doing, so it is no Diagnostic: the store turns it into the
// answer of the protocol (full: 507, busy: 503, anything else: 500) or mends it (a missing or
// corrupt shard is rebuilt from the others).
#pragma once

#include <expected>
#include <string>

namespace orrery::drives {

enum class PortFault {
  missing,  // there is nothing of that name
  full,     // no space left
  failed,   // the device said no
  busy,     // it cannot be asked now; that says nothing of what it has
  corrupt,  // what is there is not what was written
};

struct Fault {
  PortFault kind = PortFault::failed;
  std::string what;
};

template <class T>
using Outcome = std::expected<T, Fault>;

inline std::unexpected<Fault> fault(PortFault kind, std::string what) {
  return std::unexpected(Fault{kind, std::move(what)});
}

}  // namespace orrery::drives
