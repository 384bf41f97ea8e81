// The answers of the protocol that are not "yes": a code, its status and a sentence.
//
// Codes and statuses are those of the S3 API reference, "Error responses"; InsufficientStorage is
// ours, with the status of WebDAV (RFC 4918), for a drive that is full.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "live/drives/fault.h"
#include "live/net/message.h"

namespace orrery::store {

struct Refused {
  std::string code;
  std::string message = {};      // empty: the usual sentence of the code
  net::HeaderList headers = {};  // further ones of the answer
  bool undecided = false;        // the change may have come about all the same
};

template <class T>
using Answer = std::expected<T, Refused>;

inline std::unexpected<Refused> refused(std::string code, std::string message = {}) {
  return std::unexpected(Refused{std::move(code), std::move(message), {}});
}

// What a fault of a drive or of the metadata is to a client.
Refused refusal_of(const drives::Fault& fault);
inline std::unexpected<Refused> refused(const drives::Fault& fault) {
  return std::unexpected(refusal_of(fault));
}
// ... of a commit: what it names must be left where it is, for the commit may stand.
inline std::unexpected<Refused> undecided(const drives::Fault& fault) {
  Refused refusal = refusal_of(fault);
  refusal.undecided = true;
  return std::unexpected(std::move(refusal));
}

int status_of(std::string_view code);
std::string_view sentence_of(std::string_view code);

}  // namespace orrery::store
