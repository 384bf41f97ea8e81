// Three small files with the secrets of a store: its tenants, the keys that encrypt blobs, and its
// credentials for other stores. One entry per line, words separated by blanks, # begins a comment.
//
//   tenants   NAME ACCESS-KEY SECRET-KEY [quota=10TB]
//   s3 keys   BUCKET ACCESS-KEY SECRET-KEY  for tiers in other object stores
//   keys      ID 64-HEXADECIMAL-DIGITS      the first encrypts new blobs; the others decrypt blobs
//                                           that were written with them
//
// An error names the line, never the secret.
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
