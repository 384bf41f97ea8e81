#include "live/s3server/gateway.h"

#include <fmt/core.h>

#include <algorithm>

#include "live/s3server/upload.h"

namespace orrery::s3server {
namespace {

// A browser's CORS preflight. No bucket has CORS rules, so it is refused.
Answered preflight(const net::Request& request) {
  if (request.header("Origin").empty()) return refused("BadRequest");
  return refused("AccessForbidden");
}

constexpr std::string_view kSum = "x-amz-checksum-";

// Returns true for most requests: they have no body and announce none, so there is nothing to
// check.
bool has_no_body(const Call& call) {
  return call.raw.body.empty() && call.who.payload == kEmptySha256 &&
         call.header("Content-Length").empty() && call.header("Content-MD5").empty() &&
         call.header("x-amz-trailer").empty() &&
         call.header("x-amz-sdk-checksum-algorithm").empty() &&
         std::ranges::none_of(call.raw.headers, [](const auto& header) {
           return net::is_same_name(std::string_view(header.first).substr(0, kSum.size()), kSum);
         });
}

// Returns whether the metadata holds everything that the request needs, except the bytes of an
// object.
bool reads_rows(const Call& call) {
  return call.operation &&
         (call.operation->handle == get_object || call.operation->handle == head_object);
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
    : store_(store),
      setting_(std::move(setting)),
      log_(std::move(log)),
      limits_(setting_.limit),
      tenants_(store) {}

std::string Gateway::fresh_request_id() {
  return fmt::format("{:08x}-{:012x}", store_.epoch(), ++asked_);
}

Answer<Call> Gateway::call_of(const net::Request& request, Exchange& exchange) {
  auto s3 = s3_request_of(request, setting_.domain);
  if (!s3) return std::unexpected(s3.error());
  exchange.bucket = s3->bucket;
  exchange.key = s3->key;
  auto who = authenticate(request, *s3, store_.now_ms(), setting_.region,
                          [this](std::string_view key) { return tenants_.find(key); });
  if (!who) return std::unexpected(who.error());
  Call call{.store = store_,
            .setting = setting_,
            .raw = request,
            .s3 = std::move(*s3),
            .who = std::move(*who),
            .counts = &counts_,
            .quotas = &quotas_,
            .policies = &policies_};
  call.operation = operation_of(request, call.s3);
  exchange.tenant = call.who.id();
  exchange.action = call.action();
  const std::string client = call.who.tenant ? exchange.tenant : "address " + request.peer;
  exchange.turn = limits_.enter(client, store_.now_ms());
  if (!exchange.turn) {
    ++counts_.slowed;
    return refused("SlowDown");
  }
  return call;
}

Answered Gateway::answered(Call& call) {
  const Operation* operation = call.operation;
  if (!operation) {
    const bool known = names_operation(call.s3) || call.s3.method == "POST";
    return refused(known ? "NotImplemented" : "MethodNotAllowed");
  }
  if (operation->streams) {
    auto upload = ObjectUpload::begin(call);
    if (!upload) return std::unexpected(upload.error());
    if (auto taken = (*upload)->take(call.raw.body); !taken) return std::unexpected(taken.error());
    return (*upload)->finish();
  }
  if (has_no_body(call)) return operation->handle(call);
  // A document may be wrapped in chunks, signed and checksummed just like the bytes of an object.
  auto plan = payload_plan_of(call.raw, call.who, kNeverQuick);
  if (!plan) return std::unexpected(plan.error());
  if (call.s3.method == "GET" || call.s3.method == "HEAD") plan->length.reset();
  // The checksum in the headers of CompleteMultipartUpload is that of the object, not of the list
  // of parts.
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

// net::Response::later guarantees that the request outlives its answer.
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
  if (!call->operation || !call->operation->streams) return net::GatherBody{};
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
  // For a limit of the server itself (503) the answer has the default sentence of its code.
  const std::string message = status == 503 ? std::string() : std::string(what);
  net::Response response = error_response({std::string(code), message, {}}, "", "");
  response.status = status;
  return response;
}

}  // namespace orrery::s3server
