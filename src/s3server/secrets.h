// Two small files that a store is told its secrets with: who its tenants are, and what it enciphers
// blobs with. A line each, words between blanks, # begins a remark.
//
//   tenants   NAME ACCESS-KEY SECRET-KEY [quota=10TB]
//   keys      ID 64-HEXADECIMAL-DIGITS      the first is used for what is new; the others open what
//                                           was written with them
// What is wrong is said with its line, and never with the secret.
#pragma once

#include "base/diagnostic.h"
#include "s3server/names.h"

namespace orrery::s3server {

Result<std::vector<Tenant>> tenants_of(std::string_view text, const std::string& file);
Result<KeyRing> keys_of(std::string_view text, const std::string& file);

}  // namespace orrery::s3server
