// Three small files that a store is told its secrets with: who its tenants are, what it enciphers
// blobs with, and who it is to other stores. A line each, words between blanks, # begins a remark.
//
//   tenants   NAME ACCESS-KEY SECRET-KEY [quota=10TB]
//   s3 keys   BUCKET ACCESS-KEY SECRET-KEY      of tiers that lie in other object stores
//   keys      ID 64-HEXADECIMAL-DIGITS      the first is used for what is new; the others open what
//                                           was written with them
// What is wrong is said with its line, and never with the secret.
#pragma once

#include <map>

#include "core/base/diagnostic.h"
#include "live/s3/sigv4.h"
#include "live/s3server/names.h"

namespace orrery::s3server {

Result<std::vector<Tenant>> tenants_of(std::string_view text, const std::string& file);
Result<KeyRing> keys_of(std::string_view text, const std::string& file);
using S3Keys = std::map<std::string, s3::Credentials>;  // by bucket
Result<S3Keys> s3_keys_of(std::string_view text, const std::string& file);

}  // namespace orrery::s3server
