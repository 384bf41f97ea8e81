// One request in the gateway, and the functions that answer it: one per operation of the protocol,
// chosen from the table in operations.cpp.
#pragma once

#include "live/s3server/access.h"
#include "live/s3server/audit.h"
#include "live/s3server/auth.h"
#include "live/s3server/limits.h"
#include "live/s3server/metrics.h"
#include "live/s3server/payload.h"
#include "live/s3server/policy.h"
#include "live/s3server/xml_answer.h"
#include "live/store/storage_class.h"
#include "live/store/store.h"

namespace orrery::s3server {

// Settings of a gateway besides its store.
struct GatewaySetting {
  std::string region = "us-east-1";
  std::string domain = "localhost";    // domain of virtual hosts, as in BUCKET.localhost
  TimeMs day_ms = 24LL * 3600 * 1000;  // length of a day for lifecycle rules; tests shorten it
  ClientLimit limit = {};
  // Size from which a body gets an ETag that is not an MD5, unless the client sends an MD5.
  std::uint64_t quick_etag_bytes = std::uint64_t{16} << 20;
  // Minimum size of every part of an upload except the last (S3's limit).
  std::uint64_t part_bytes_min = std::uint64_t{5} << 20;
  // Returns the bytes that a tenant may store; 0: no limit.
  std::function<std::uint64_t(std::string_view tenant)> quota_of = nullptr;
  std::shared_ptr<const AuditLog> audit = nullptr;
  // Set if answers are made on the network thread: work that waits for a drive or a sync is then
  // deferred.
  bool puts_off = false;
};

struct Call;
using Answered = Answer<net::Response>;
using Handle = Answered (*)(Call&);

enum class Level { service, bucket, object };

// A row of the table: which requests belong to this operation, and its action name in policies.
struct Operation {
  std::string_view method;
  Level level;
  std::string_view parameter;  // query parameter that selects it; empty: no parameter that selects
                               // another operation
  Handle handle;               // null if the body is streamed into an ObjectUpload
  std::string_view action;
  std::string_view version_action = {};  // action if the request names a version; empty: the same
                                         // action
  std::string_view header = {};          // header that must be present as well
  bool streams = false;
};
// Returns the first row that matches the request, or null if there is none.
const Operation* operation_of(const net::Request& raw, const S3Request& request);
// Returns true if a parameter names an operation of S3, whether or not this server implements it.
bool names_operation(const S3Request& request);

struct Call {
  Store& store;
  const GatewaySetting& setting;
  const net::Request& raw;
  S3Request s3;
  Caller who;
  const Operation* operation = nullptr;  // null: not implemented
  GatewayCounts* counts = nullptr;
  QuotaBook* quotas = nullptr;
  PolicyBook* policies = nullptr;
  std::string body = {};  // the unwrapped document, if the request carries one
  bool may_wait = true;
  // The rest of the work, if the call must not wait here; its result is then the answer.
  std::function<Answer<net::Response>(Call&)> rest = nullptr;

  std::string_view header(std::string_view name) const { return raw.header(name); }
  // Returns the name that policies use, such as "s3:GetObject"; empty if the operation is not
  // implemented.
  std::string_view action() const;
};

// Returns the bucket if the caller may do this with it.
Answer<Bucket> allowed_bucket(Call& call, Need need);
// Fails unless the caller may do `action` with the key (empty: with the bucket). The bucket's
// policy decides, or its ACL if the policy has no matching statement.
Answer<void> check_right(const Call& call, const Bucket& bucket, std::string_view action,
                         std::string_view key, Need need);
// Fails unless the caller may read this version, requested by its id or as the newest.
Answer<void> may_read(const Call& call, const Bucket& bucket, std::string_view key,
                      const Version& version, bool by_id);
// Fails unless the caller may use a condition on ETags of the key, because its result reveals what
// is stored.
Answer<void> may_compare(Call& call, const Bucket& bucket, const std::string& key,
                         const WriteCondition& condition);
// Checks the rights that the headers of an upload need in addition to PutObject: for ACLs, tags and
// locks.
Answer<void> check_header_rights(const Call& call, const Bucket& bucket);
// Returns true if the request asks to bypass governance retention and the caller may do so.
bool passes_governance(const Call& call, const Bucket& bucket, std::string_view key);
// Turns "no such key" into "access denied" for callers who may not list the bucket.
Refused hidden(const Call& call, const Bucket& bucket, Refused refusal);
// The same for a read: if the caller may not read the key, the answer is the same whether or not it
// exists.
Refused hidden_read(const Call& call, const Bucket& bucket, std::string_view key, bool by_id,
                    Refused refusal);
// Reserves `bytes` within the quota of the bucket's owner until they are counted or released.
// Returns null if there is no quota.
Answer<std::unique_ptr<QuotaBook::Hold>> hold_quota(Call& call, const Bucket& bucket,
                                                    std::uint64_t bytes);

Answered list_buckets(Call& call);
Answered make_bucket(Call& call);
Answered head_bucket(Call& call);
Answered remove_bucket(Call& call);
Answered get_location(Call& call);
Answered get_versioning(Call& call);
Answered put_versioning(Call& call);
Answered get_bucket_acl(Call& call);
Answered put_bucket_acl(Call& call);
Answered get_bucket_tags(Call& call);
Answered put_bucket_tags(Call& call);
Answered remove_bucket_tags(Call& call);
Answered get_lock(Call& call);
Answered put_lock(Call& call);
Answered get_policy(Call& call);
Answered get_policy_status(Call& call);
Answered put_policy(Call& call);
Answered remove_policy(Call& call);
Answered get_lifecycle(Call& call);
Answered put_lifecycle(Call& call);
Answered remove_lifecycle(Call& call);

Answered list_objects(Call& call);
Answered list_versions(Call& call);
Answered list_uploads(Call& call);
Answered remove_objects(Call& call);

Answered get_object(Call& call);
Answered head_object(Call& call);
Answered remove_object(Call& call);
Answered copy_object(Call& call);
Answered get_attributes(Call& call);
Answered get_lineage(Call& call);
Answered restore_object(Call& call);
Answered get_object_acl(Call& call);
Answered put_object_acl(Call& call);
Answered get_tags(Call& call);
Answered put_tags(Call& call);
Answered remove_tags(Call& call);
Answered get_retention(Call& call);
Answered put_retention(Call& call);
Answered get_legal_hold(Call& call);
Answered put_legal_hold(Call& call);

Answered begin_upload(Call& call);
Answered copy_part(Call& call);
Answered list_parts(Call& call);
Answered complete_upload(Call& call);
Answered abort_upload(Call& call);

// Returns the object that the headers of an upload describe, without its bytes.
Answer<Version> draft_of(Call& call, const Bucket& bucket);
// Returns the version's headers for GET and HEAD.
net::HeaderList headers_of(const Version& version, bool with_checksum);
// Parse and check tags in XML (<Tagging><TagSet>...) or in a query ("a=b&c=d").
Answer<HeaderList> tags_of_xml(std::string_view body, std::size_t most);
Answer<HeaderList> tags_of_query(std::string_view text);
net::Response tags_answer(const HeaderList& tags);
// expiration_of() returns x-amz-expiration of a version under the bucket's rules; empty if no rule
// ends it. restore_of() returns x-amz-restore of a version in a slow tier; empty if no restore was
// requested.
std::string restore_of(const Version& version, TimeMs now);
std::string expiration_of(const Bucket& bucket, std::string_view key, const Version& version);
WriteCondition write_condition_of(const net::Request& raw);
std::string quoted_etag(std::string_view etag);

// The source of a copy: "/bucket/key?versionId=..." in x-amz-copy-source.
struct CopySource {
  std::string bucket;
  std::string key;
  std::optional<std::string> version_id;
};
Answer<CopySource> copy_source_of(const Call& call);
Answer<OpenedObject> open_source(Call& call, const CopySource& source);
struct CopiedBytes {
  std::optional<Blob> blob;
  PayloadEnd end;
};
Answer<CopiedBytes> copy_bytes(Call& call, OpenedObject& from, std::uint64_t begin,
                               std::uint64_t bytes, std::string_view storage_class,
                               std::optional<SumKind> sum);

}  // namespace orrery::s3server
