// Who may do what: the owner of a bucket anything, others what its canned ACL says.
//
// public-read lets anyone list a bucket or read an object, public-read-write also write into the
// bucket, authenticated-read lets every tenant read. Grants to single users are refused when they
// are set, so nothing is promised that is not kept. A bucket's policy goes before this
// (rights.cpp).
#pragma once

#include "live/rows/records.h"
#include "live/s3server/auth.h"

namespace orrery::s3server {

enum class Need { list, read, write, own };

Answer<void> check_bucket_access(const Caller& who, const Bucket& bucket, Need need);
// A version can be read by its own ACL, whatever the ACL of the bucket.
Answer<void> check_object_access(const Caller& who, const Bucket& bucket, const Version& version);
bool is_canned_acl(std::string_view acl);
net::Response acl_answer(const std::string& owner, std::string_view acl);

}  // namespace orrery::s3server
