// What may go wrong below a request, at a drive or in the metadata, as a value.
//
// A fault of a port is not the user's fault, so it is not a Diagnostic. The store turns it into an
// answer of the protocol (full: 507, busy: 503, anything else: 500) or repairs it (a missing or
// corrupt shard is rebuilt from the others).
#pragma once

#include <expected>
#include <string>

namespace orrery::drives {

enum class PortFault {
  missing,  // nothing has this name
  full,     // no space left
  failed,   // the device reported an error
  busy,     // the drive cannot be reached now; its contents are unknown, not lost
  corrupt,  // the stored bytes differ from those written
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
