// The answers of the protocol that refuse a request: a code, its status and a sentence.
//
// Codes and statuses are those of the S3 API reference, "Error responses". InsufficientStorage, for
// a full drive, is our own; its status is that of WebDAV (RFC 4918).
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "live/drives/fault.h"
#include "live/net/message.h"

namespace orrery::store {

struct Refused {
  std::string code;
  std::string message = {};      // empty: the default sentence of the code
  net::HeaderList headers = {};  // further headers of the answer
  bool undecided = false;        // the change may have taken effect nevertheless
};

template <class T>
using Answer = std::expected<T, Refused>;

inline std::unexpected<Refused> refused(std::string code, std::string message = {}) {
  return std::unexpected(Refused{std::move(code), std::move(message), {}});
}

// Returns the answer that a client gets for a fault of a drive or of the metadata.
Refused refusal_of(const drives::Fault& fault);
inline std::unexpected<Refused> refused(const drives::Fault& fault) {
  return std::unexpected(refusal_of(fault));
}
// The same for a commit. The commit may have taken effect, so the files that it names must be kept.
inline std::unexpected<Refused> undecided(const drives::Fault& fault) {
  Refused refusal = refusal_of(fault);
  refusal.undecided = true;
  return std::unexpected(std::move(refusal));
}

int status_of(std::string_view code);
std::string_view sentence_of(std::string_view code);

}  // namespace orrery::store
