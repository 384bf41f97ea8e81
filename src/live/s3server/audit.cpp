#include "live/s3server/audit.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/base/json_writer.h"
#include "live/store/moment.h"

namespace orrery::s3server {

std::string audit_line(const AuditEntry& entry) {
  JsonWriter json(0);
  json.begin_object()
      .field("time", xml_time(entry.at))
      .field("request", entry.request)
      .field("peer", entry.peer)
      .field("tenant", entry.tenant)
      .field("action", entry.action)
      .field("bucket", entry.bucket)
      .field("key", entry.key)
      .field("status", entry.status)
      .field("bytes", entry.bytes)
      .field("ms", static_cast<std::int64_t>(std::llround(entry.ms)))
      .end_object();
  return json.text() + '\n';
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0640);
  if (file >= 0) return std::unique_ptr<AuditLog>(new AuditLog(file));
  return fail({.code = "store.audit",
               .place = {path},
               .what = std::string("the audit log cannot be opened: ") + std::strerror(errno),
               .why = {},
               .fix = {}});
}

AuditLog::~AuditLog() { ::close(file_); }

void AuditLog::write(const AuditEntry& entry) const {
  const std::string line = audit_line(entry);
  // A full disk must not fail a request that has been answered, so the line is lost.
  if (::write(file_, line.data(), line.size()) < 0) return;
}

}  // namespace orrery::s3server
