// The audit log: one line of JSON per request, appended once it has been answered.
//
//   {"time":"2013-05-24T00:00:00.000Z","request":"...","peer":"...","tenant":"...",
//    "action":"s3:GetObject","bucket":"...","key":"...","status":200,"bytes":10,"ms":3}
//
// Each line is one write to a file opened for appending, so lines of several threads do not mix.
// After the log was renamed, a new one begins when the store restarts (or copy and truncate it).
// The log is not synced: a power cut may lose the last lines.
#pragma once

#include <memory>
#include <string>

#include "core/base/diagnostic.h"
#include "live/s3server/names.h"

namespace orrery::s3server {

struct AuditEntry {
  TimeMs at = 0;
  std::string request;
  std::string peer;
  std::string tenant;  // empty: an anonymous request
  std::string action;
  std::string bucket;
  std::string key;
  int status = 0;
  std::uint64_t bytes = 0;  // announced size of the answer
  double ms = 0;            // time until the answer began
};
std::string audit_line(const AuditEntry& entry);

class AuditLog {
 public:
  static Result<std::unique_ptr<AuditLog>> open(const std::string& path);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  void write(const AuditEntry& entry) const;

 private:
  explicit AuditLog(int file) : file_(file) {}
  int file_;
};

}  // namespace orrery::s3server
