// Access rights: the owner of a bucket may do everything, others what its canned ACL allows.
//
// public-read lets anyone list a bucket or read an object, public-read-write also lets anyone write
// into the bucket, and authenticated-read lets every tenant read. Grants to individual users are
// refused when they are set, so that no unsupported grant is accepted. A bucket's policy takes
// precedence (rights.cpp).
#pragma once

#include "live/rows/records.h"
#include "live/s3server/auth.h"

namespace orrery::s3server {

enum class Need { list, read, write, own };

Answer<void> check_bucket_access(const Caller& who, const Bucket& bucket, Need need);
// The ACL of a version decides who may read it, whatever the ACL of the bucket.
Answer<void> check_object_access(const Caller& who, const Bucket& bucket, const Version& version);
bool is_canned_acl(std::string_view acl);
net::Response acl_answer(const std::string& owner, std::string_view acl);

}  // namespace orrery::s3server
