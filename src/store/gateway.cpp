#include "store/gateway.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "store/upload.h"

namespace orrery::store {
namespace {

enum class Level { service, bucket, object };

// The rows of the protocol: the first whose method, level and parameter fit answers.
struct Operation {
  std::string_view method;
  Level level;
  std::string_view parameter;  // of the query; empty: none of those that make another operation
  Handle handle;
};

constexpr auto kOperations = std::to_array<Operation>({
    {"GET", Level::service, "", list_buckets},
    {"PUT", Level::bucket, "versioning", put_versioning},
    {"PUT", Level::bucket, "acl", put_bucket_acl},
    {"PUT", Level::bucket, "tagging", put_bucket_tags},
    {"PUT", Level::bucket, "object-lock", put_lock},
    {"PUT", Level::bucket, "lifecycle", put_lifecycle},
    {"PUT", Level::bucket, "", make_bucket},
    {"GET", Level::bucket, "location", get_location},
    {"GET", Level::bucket, "versioning", get_versioning},
    {"GET", Level::bucket, "acl", get_bucket_acl},
    {"GET", Level::bucket, "tagging", get_bucket_tags},
    {"GET", Level::bucket, "object-lock", get_lock},
    {"GET", Level::bucket, "lifecycle", get_lifecycle},
    {"GET", Level::bucket, "versions", list_versions},
    {"GET", Level::bucket, "uploads", list_uploads},
    {"GET", Level::bucket, "", list_objects},
    {"HEAD", Level::bucket, "", head_bucket},
    {"DELETE", Level::bucket, "tagging", remove_bucket_tags},
    {"DELETE", Level::bucket, "lifecycle", remove_lifecycle},
    {"DELETE", Level::bucket, "", remove_bucket},
    {"POST", Level::bucket, "delete", remove_objects},
    {"GET", Level::object, "uploadId", list_parts},
    {"GET", Level::object, "tagging", get_tags},
    {"GET", Level::object, "acl", get_object_acl},
    {"GET", Level::object, "retention", get_retention},
    {"GET", Level::object, "legal-hold", get_legal_hold},
    {"GET", Level::object, "attributes", get_attributes},
    {"GET", Level::object, "", get_object},
    {"HEAD", Level::object, "", head_object},
    {"PUT", Level::object, "tagging", put_tags},
    {"PUT", Level::object, "acl", put_object_acl},
    {"PUT", Level::object, "retention", put_retention},
    {"PUT", Level::object, "legal-hold", put_legal_hold},
    {"PUT", Level::object, "uploadId", copy_part},
    {"PUT", Level::object, "", copy_object},
    {"DELETE", Level::object, "uploadId", abort_upload},
    {"DELETE", Level::object, "tagging", remove_tags},
    {"DELETE", Level::object, "", remove_object},
    {"POST", Level::object, "uploads", begin_upload},
    {"POST", Level::object, "uploadId", complete_upload},
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

}  // namespace

class UploadSink final : public net::BodySink {
 public:
  UploadSink(Gateway& gateway, const net::Request& request, std::string id,
             std::unique_ptr<ObjectUpload> upload)
      : gateway_(gateway), request_(request), id_(std::move(id)), upload_(std::move(upload)) {}

  std::optional<net::Response> take(std::string_view piece) override {
    auto taken = upload_->take(piece);
    if (taken) return std::nullopt;
    return gateway_.finished(request_, id_, std::unexpected(taken.error()));
  }
  net::Response finish() override { return gateway_.finished(request_, id_, upload_->finish()); }

 private:
  Gateway& gateway_;
  const net::Request& request_;
  std::string id_;
  std::unique_ptr<ObjectUpload> upload_;
};

Gateway::Gateway(Store& store, GatewaySetting setting, std::function<void(const std::string&)> log)
    : store_(store), setting_(std::move(setting)), log_(std::move(log)) {}

std::string Gateway::fresh_request_id() {
  return fmt::format("{:08x}-{:012x}", store_.epoch(), ++asked_);
}

Answer<std::optional<Tenant>> Gateway::tenant(std::string_view access_key) {
  const auto found = store_.metadata().get(row::tenant(access_key));
  if (!found) return refused(found.error());
  if (!*found) return std::nullopt;
  return decode_tenant(**found);
}

Answer<Call> Gateway::call_of(const net::Request& request) {
  auto s3 = s3_request_of(request, setting_.domain);
  if (!s3) return std::unexpected(s3.error());
  auto who = authenticate(request, *s3, store_.now_ms(),
                          [this](std::string_view key) { return tenant(key); });
  if (!who) return std::unexpected(who.error());
  return Call{.store = store_,
              .setting = setting_,
              .raw = request,
              .s3 = std::move(*s3),
              .who = std::move(*who)};
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
  // A document may be wrapped, signed and summed as an object's bytes may.
  auto plan = payload_plan_of(call.raw, call.who);
  if (!plan) return std::unexpected(plan.error());
  if (call.s3.method == "GET" || call.s3.method == "HEAD") plan->length.reset();
  PayloadReader reader(std::move(*plan));
  const auto keep = [&](std::string_view bytes) -> Answer<void> {
    call.body += bytes;
    return {};
  };
  if (auto taken = reader.take(call.raw.body, keep); !taken) return std::unexpected(taken.error());
  if (auto end = reader.finish(); !end) return std::unexpected(end.error());
  return operation->handle(call);
}

net::Response Gateway::finished(const net::Request& request, const std::string& id,
                                Answered answered) {
  ++counts_.requests;
  net::Response response;
  if (answered) {
    response = std::move(*answered);
  } else {
    const int status = status_of(answered.error().code);
    ++(status >= 500 ? counts_.faults : counts_.refused);
    if (status >= 500 && status != 501) {
      log_(fmt::format("{} {} {}: {} {}", id, request.method, net::path_of(request),
                       answered.error().code, answered.error().message));
    }
    response = error_response(answered.error(), net::path_of(request), id);
    if (request.method == "HEAD") response.length = response.body.size();
  }
  response.headers.emplace_back("x-amz-request-id", id);
  return response;
}

net::Response Gateway::answer(const net::Request& request) {
  const std::string id = fresh_request_id();
  if (request.method == "OPTIONS") return finished(request, id, preflight(request));
  auto call = call_of(request);
  if (!call) return finished(request, id, std::unexpected(call.error()));
  return finished(request, id, answered(*call));
}

net::BodyPlan Gateway::plan(const net::Request& request) {
  auto call = call_of(request);
  const auto refuse = [&](const Refused& why) {
    return finished(request, fresh_request_id(), std::unexpected(why));
  };
  if (!call) return refuse(call.error());
  if (!is_upload(*call)) return net::GatherBody{};
  auto upload = ObjectUpload::begin(std::move(*call));
  if (!upload) return refuse(upload.error());
  return std::make_unique<UploadSink>(*this, request, fresh_request_id(), std::move(*upload));
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

}  // namespace orrery::store
