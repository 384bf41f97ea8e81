#include "live/s3server/metrics.h"

namespace orrery::s3server {

RequestKind request_kind_of(std::string_view action) {
  if (action.starts_with("s3:GetObject")) return RequestKind::get;
  if (action == "s3:PutObject") return RequestKind::put;
  if (action.starts_with("s3:List")) return RequestKind::list;
  if (action.starts_with("s3:DeleteObject")) return RequestKind::remove;
  return RequestKind::other;
}

void GatewayCounts::add(RequestKind kind, int status, std::uint64_t bytes, double seconds) {
  KindCounts& of = kinds[static_cast<std::size_t>(kind)];
  ++of.requests;
  if (status >= 500) {
    ++of.faults;
  } else if (status >= 400) {
    ++of.refused;
  }
  of.bytes += bytes;
  of.micros += static_cast<std::uint64_t>(seconds * 1e6);
  std::size_t at = 0;
  while (at < kLatencyBounds.size() && seconds > kLatencyBounds[at]) ++at;
  ++of.within[at];
}

}  // namespace orrery::s3server
