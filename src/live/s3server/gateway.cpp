#include "live/s3server/gateway.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "live/s3server/upload.h"

namespace orrery::s3server {
namespace {

enum class Level { service, bucket, object };

// The rows of the protocol: the first whose method, level and parameter fit answers.
struct Operation {
  std::string_view method;
  Level level;
  std::string_view parameter;  // of the query; empty: none of those that make another operation
  Handle handle;
  std::string_view action;  // as policies name it
};

constexpr auto kOperations = std::to_array<Operation>({
    {"GET", Level::service, "", list_buckets, "s3:ListAllMyBuckets"},
    {"PUT", Level::bucket, "versioning", put_versioning, "s3:PutBucketVersioning"},
    {"PUT", Level::bucket, "acl", put_bucket_acl, "s3:PutBucketAcl"},
    {"PUT", Level::bucket, "tagging", put_bucket_tags, "s3:PutBucketTagging"},
    {"PUT", Level::bucket, "object-lock", put_lock, "s3:PutBucketObjectLockConfiguration"},
    {"PUT", Level::bucket, "lifecycle", put_lifecycle, "s3:PutLifecycleConfiguration"},
    {"PUT", Level::bucket, "policy", put_policy, "s3:PutBucketPolicy"},
    {"PUT", Level::bucket, "", make_bucket, "s3:CreateBucket"},
    {"GET", Level::bucket, "location", get_location, "s3:GetBucketLocation"},
    {"GET", Level::bucket, "versioning", get_versioning, "s3:GetBucketVersioning"},
    {"GET", Level::bucket, "acl", get_bucket_acl, "s3:GetBucketAcl"},
    {"GET", Level::bucket, "tagging", get_bucket_tags, "s3:GetBucketTagging"},
    {"GET", Level::bucket, "object-lock", get_lock, "s3:GetBucketObjectLockConfiguration"},
    {"GET", Level::bucket, "lifecycle", get_lifecycle, "s3:GetLifecycleConfiguration"},
    {"GET", Level::bucket, "policy", get_policy, "s3:GetBucketPolicy"},
    {"GET", Level::bucket, "policyStatus", get_policy_status, "s3:GetBucketPolicyStatus"},
    {"GET", Level::bucket, "versions", list_versions, "s3:ListBucketVersions"},
    {"GET", Level::bucket, "uploads", list_uploads, "s3:ListBucketMultipartUploads"},
    {"GET", Level::bucket, "", list_objects, "s3:ListBucket"},
    {"HEAD", Level::bucket, "", head_bucket, "s3:ListBucket"},
    {"DELETE", Level::bucket, "tagging", remove_bucket_tags, "s3:PutBucketTagging"},
    {"DELETE", Level::bucket, "lifecycle", remove_lifecycle, "s3:PutLifecycleConfiguration"},
    {"DELETE", Level::bucket, "policy", remove_policy, "s3:DeleteBucketPolicy"},
    {"DELETE", Level::bucket, "", remove_bucket, "s3:DeleteBucket"},
    {"POST", Level::bucket, "delete", remove_objects, "s3:DeleteObject"},
    {"GET", Level::object, "uploadId", list_parts, "s3:ListMultipartUploadParts"},
    {"GET", Level::object, "tagging", get_tags, "s3:GetObjectTagging"},
    {"GET", Level::object, "acl", get_object_acl, "s3:GetObjectAcl"},
    {"GET", Level::object, "retention", get_retention, "s3:GetObjectRetention"},
    {"GET", Level::object, "legal-hold", get_legal_hold, "s3:GetObjectLegalHold"},
    {"GET", Level::object, "attributes", get_attributes, "s3:GetObjectAttributes"},
    {"GET", Level::object, "orrery-lineage", get_lineage, "s3:GetObjectTagging"},
    {"GET", Level::object, "", get_object, "s3:GetObject"},
    {"HEAD", Level::object, "", head_object, "s3:GetObject"},
    {"PUT", Level::object, "tagging", put_tags, "s3:PutObjectTagging"},
    {"PUT", Level::object, "acl", put_object_acl, "s3:PutObjectAcl"},
    {"PUT", Level::object, "retention", put_retention, "s3:PutObjectRetention"},
    {"PUT", Level::object, "legal-hold", put_legal_hold, "s3:PutObjectLegalHold"},
    {"PUT", Level::object, "uploadId", copy_part, "s3:PutObject"},
    {"PUT", Level::object, "", copy_object, "s3:PutObject"},
    {"DELETE", Level::object, "uploadId", abort_upload, "s3:AbortMultipartUpload"},
    {"DELETE", Level::object, "tagging", remove_tags, "s3:DeleteObjectTagging"},
    {"DELETE", Level::object, "", remove_object, "s3:DeleteObject"},
    {"POST", Level::object, "restore", restore_object, "s3:RestoreObject"},
    {"POST", Level::object, "uploads", begin_upload, "s3:PutObject"},
    {"POST", Level::object, "uploadId", complete_upload, "s3:PutObject"},
});

// Parameters that name an operation of their own, ours or not.
constexpr auto kSubresources = std::to_array<std::string_view>({"accelerate",
                                                                "acl",
                                                                "analytics",
                                                                "attributes",
                                                                "cors",
                                                                "delete",
                                                                "encryption",
                                                                "intelligent-tiering",
                                                                "inventory",
                                                                "legal-hold",
                                                                "lifecycle",
                                                                "location",
                                                                "logging",
                                                                "metrics",
                                                                "notification",
                                                                "object-lock",
                                                                "orrery-lineage",
                                                                "ownershipControls",
                                                                "policy",
                                                                "policyStatus",
                                                                "publicAccessBlock",
                                                                "replication",
                                                                "requestPayment",
                                                                "restore",
                                                                "retention",
                                                                "select",
                                                                "tagging",
                                                                "torrent",
                                                                "uploadId",
                                                                "uploads",
                                                                "versioning",
                                                                "versions",
                                                                "website"});

Level level_of(const S3Request& request) {
  if (request.bucket.empty()) return Level::service;
  return request.key.empty() ? Level::bucket : Level::object;
}

std::string_view subresource_of(const S3Request& request) {
  for (const auto& [name, value] : request.query) {
    const auto at = std::ranges::find(kSubresources, name);
    if (at != kSubresources.end()) return *at;
  }
  return "";
}

const Operation* operation_of(const S3Request& request) {
  const Level level = level_of(request);
  const std::string_view parameter = subresource_of(request);
  const auto at = std::ranges::find_if(kOperations, [&](const Operation& operation) {
    return operation.method == request.method && operation.level == level &&
           operation.parameter == parameter;
  });
  return at == kOperations.end() ? nullptr : &*at;
}

// A browser asks whether it may ask; no bucket has rules that say so.
Answered preflight(const net::Request& request) {
  if (request.header("Origin").empty()) return refused("BadRequest");
  return refused("AccessForbidden");
}

// Whether the body is an object's bytes: they stream and are not a document.
bool is_upload(const Call& call) {
  const std::string_view parameter = subresource_of(call.s3);
  return call.s3.method == "PUT" && level_of(call.s3) == Level::object &&
         (parameter.empty() || parameter == "uploadId") && call.header("x-amz-copy-source").empty();
}

constexpr std::string_view kSum = "x-amz-checksum-";

// Nothing came and nothing was said of it, as of most requests: there is nothing to check.
bool has_no_body(const Call& call) {
  return call.raw.body.empty() && call.who.payload == kEmptySha256 &&
         call.header("Content-Length").empty() && call.header("Content-MD5").empty() &&
         call.header("x-amz-trailer").empty() &&
         call.header("x-amz-sdk-checksum-algorithm").empty() &&
         std::ranges::none_of(call.raw.headers, [](const auto& header) {
           return net::is_same_name(std::string_view(header.first).substr(0, kSum.size()), kSum);
         });
}

// Whether it is found in the metadata what this needs, or all but the bytes of an object.
bool reads_rows(const Call& call) {
  const Operation* operation = operation_of(call.s3);
  return operation && (operation->handle == get_object || operation->handle == head_object);
}

}  // namespace

class UploadSink final : public net::BodySink {
 public:
  UploadSink(Gateway& gateway, const net::Request& request, Exchange exchange,
             std::unique_ptr<ObjectUpload> upload)
      : gateway_(gateway),
        request_(request),
        exchange_(std::move(exchange)),
        upload_(std::move(upload)) {}

  std::optional<net::Response> take(std::string_view piece) override {
    exchange_.bytes_in += piece.size();
    auto taken = upload_->take(piece);
    if (taken) return std::nullopt;
    return gateway_.finished(request_, exchange_, std::unexpected(taken.error()));
  }
  net::Response finish() override {
    return gateway_.finished(request_, exchange_, upload_->finish());
  }

 private:
  Gateway& gateway_;
  const net::Request& request_;
  Exchange exchange_;
  std::unique_ptr<ObjectUpload> upload_;
};

Gateway::Gateway(Store& store, GatewaySetting setting, std::function<void(const std::string&)> log)
    : store_(store), setting_(std::move(setting)), log_(std::move(log)), limits_(setting_.limit) {}

std::string Gateway::fresh_request_id() {
  return fmt::format("{:08x}-{:012x}", store_.epoch(), ++asked_);
}

Answer<std::optional<Tenant>> Gateway::tenant(std::string_view access_key) {
  const auto found = store_.metadata().get(row::tenant(access_key));
  if (!found) return refused(found.error());
  if (!*found) return std::nullopt;
  return decode_tenant(**found);
}

Answer<Call> Gateway::call_of(const net::Request& request, Exchange& exchange) {
  auto s3 = s3_request_of(request, setting_.domain);
  if (!s3) return std::unexpected(s3.error());
  exchange.bucket = s3->bucket;
  exchange.key = s3->key;
  auto who = authenticate(request, *s3, store_.now_ms(),
                          [this](std::string_view key) { return tenant(key); });
  if (!who) return std::unexpected(who.error());
  Call call{.store = store_,
            .setting = setting_,
            .raw = request,
            .s3 = std::move(*s3),
            .who = std::move(*who),
            .counts = &counts_};
  const Operation* operation = operation_of(call.s3);
  if (operation) call.action = operation->action;
  if (is_upload(call)) call.action = "s3:PutObject";
  exchange.tenant = call.who.id();
  exchange.action = call.action;
  const std::string client = call.who.tenant ? exchange.tenant : "address " + request.peer;
  exchange.turn = limits_.enter(client, store_.now_ms());
  if (!exchange.turn) {
    ++counts_.slowed;
    return refused("SlowDown");
  }
  return call;
}

Answered Gateway::answered(Call& call) {
  const Operation* operation = operation_of(call.s3);
  if (is_upload(call)) {
    auto upload = ObjectUpload::begin(call);
    if (!upload) return std::unexpected(upload.error());
    if (auto taken = (*upload)->take(call.raw.body); !taken) return std::unexpected(taken.error());
    return (*upload)->finish();
  }
  if (!operation) {
    const bool known = !subresource_of(call.s3).empty() || call.s3.method == "POST";
    return refused(known ? "NotImplemented" : "MethodNotAllowed");
  }
  if (has_no_body(call)) return operation->handle(call);
  // A document may be wrapped, signed and summed as an object's bytes may.
  auto plan = payload_plan_of(call.raw, call.who, kNeverQuick);
  if (!plan) return std::unexpected(plan.error());
  if (call.s3.method == "GET" || call.s3.method == "HEAD") plan->length.reset();
  // The sum in a completion's headers is that of the object, not of the list of its parts.
  if (operation->handle == complete_upload && !plan->sum_in_trailer) plan->sum.reset();
  PayloadReader reader(std::move(*plan));
  const auto keep = [&](std::string_view bytes) -> Answer<void> {
    call.body += bytes;
    return {};
  };
  if (auto taken = reader.take(call.raw.body, keep); !taken) return std::unexpected(taken.error());
  if (auto end = reader.finish(); !end) return std::unexpected(end.error());
  return operation->handle(call);
}

net::Response Gateway::finished(const net::Request& request, const Exchange& exchange,
                                Answered answered) {
  net::Response response;
  if (answered) {
    response = std::move(*answered);
  } else {
    const int status = status_of(answered.error().code);
    if (status >= 500 && status != 501 && answered.error().code != "SlowDown") {
      log_(fmt::format("{} {} {}: {} {}", exchange.id, request.method, net::path_of(request),
                       answered.error().code, answered.error().message));
    }
    response = error_response(answered.error(), net::path_of(request), exchange.id);
    if (request.method == "HEAD") response.length = response.body.size();
  }
  response.headers.emplace_back("x-amz-request-id", exchange.id);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - exchange.begun;
  const std::uint64_t bytes = response.length.value_or(response.body.size());
  const RequestKind kind = request_kind_of(exchange.action);
  counts_.add(kind, response.status, kind == RequestKind::put ? exchange.bytes_in : bytes,
              took.count());
  if (setting_.audit) {
    setting_.audit->write({.at = store_.now_ms(),
                           .request = exchange.id,
                           .peer = request.peer,
                           .tenant = exchange.tenant,
                           .action = exchange.action,
                           .bucket = exchange.bucket,
                           .key = exchange.key,
                           .status = response.status,
                           .bytes = bytes,
                           .ms = took.count() * 1000});
  }
  return response;
}

net::Response Gateway::answer(const net::Request& request) {
  Exchange exchange{.id = fresh_request_id()};
  if (request.method == "OPTIONS") return finished(request, exchange, preflight(request));
  auto call = call_of(request, exchange);
  if (!call) return finished(request, exchange, std::unexpected(call.error()));
  call->may_wait = !setting_.puts_off;
  if (!call->may_wait && !reads_rows(*call)) {
    call->rest = [this](Call& whole) { return answered(whole); };
    return put_off(request, std::move(exchange), std::move(*call));
  }
  auto answer = answered(*call);
  if (call->rest) return put_off(request, std::move(exchange), std::move(*call));
  return finished(request, exchange, std::move(answer));
}

// The request outlives its answer, as net::Response::later has it.
net::Response Gateway::put_off(const net::Request& request, Exchange exchange, Call call) {
  struct Waiting {
    Exchange exchange;
    Call call;
  };
  const auto waiting = std::make_shared<Waiting>(Waiting{std::move(exchange), std::move(call)});
  return {.later = [this, &request, waiting] {
    waiting->call.may_wait = true;
    const auto rest = std::move(waiting->call.rest);
    return finished(request, waiting->exchange, rest(waiting->call));
  }};
}

net::BodyPlan Gateway::plan(const net::Request& request) {
  Exchange exchange{.id = fresh_request_id()};
  auto call = call_of(request, exchange);
  if (!call) return finished(request, exchange, std::unexpected(call.error()));
  if (!is_upload(*call)) return net::GatherBody{};
  auto upload = ObjectUpload::begin(std::move(*call));
  if (!upload) return finished(request, exchange, std::unexpected(upload.error()));
  return std::make_unique<UploadSink>(*this, request, std::move(exchange), std::move(*upload));
}

net::Service Gateway::service() {
  return {.answer = [this](const net::Request& request) { return answer(request); },
          .plan = [this](const net::Request& request) { return plan(request); }};
}

net::Response Gateway::refusal(int status, std::string_view what) {
  const std::string_view code = status == 413   ? "EntityTooLarge"
                                : status == 503 ? "SlowDown"
                                : status >= 500 ? "InternalError"
                                                : "InvalidRequest";
  net::Response response = error_response({std::string(code), std::string(what), {}}, "", "");
  response.status = status;
  return response;
}

}  // namespace orrery::s3server
