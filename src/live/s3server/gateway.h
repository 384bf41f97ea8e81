// The S3 protocol over a store: identifies the caller and the operation, and produces the answer.
//
// Promises. Every answer has an x-amz-request-id, errors are XML as in the protocol, and
// unsupported operations get NotImplemented. A handler runs on the thread that calls it; between
// requests nothing is kept except in the store. Documents are held as a whole, up to the server's
// limit; the bytes of objects are streamed. call.h describes the operations and upload.h the
// uploads.
#pragma once

#include <atomic>
#include <chrono>

#include "live/net/message.h"
#include "live/s3server/call.h"
#include "live/s3server/tenants.h"

namespace orrery::s3server {

// One request from its header to its answer, for limits, counts and the audit log.
struct Exchange {
  std::string id;
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  std::string tenant = {};
  std::string action = {};
  std::string bucket = {};
  std::string key = {};
  std::uint64_t bytes_in = 0;
  std::shared_ptr<ClientLimits::Turn> turn = nullptr;
};

class Gateway {
 public:
  Gateway(Store& store, GatewaySetting setting, std::function<void(const std::string&)> log);

  net::Response answer(const net::Request& request);
  net::BodyPlan plan(const net::Request& request);
  net::Service service();
  // The server's own refusals as errors of the protocol.
  static net::Response refusal(int status, std::string_view what);

  const GatewayCounts& counts() const { return counts_; }

 private:
  friend class UploadSink;
  Answer<Call> call_of(const net::Request& request, Exchange& exchange);
  Answered answered(Call& call);
  net::Response put_off(const net::Request& request, Exchange exchange, Call call);
  net::Response finished(const net::Request& request, const Exchange& exchange, Answered answered);
  std::string fresh_request_id();

  Store& store_;
  GatewaySetting setting_;
  std::function<void(const std::string&)> log_;
  ClientLimits limits_;
  TenantBook tenants_;
  QuotaBook quotas_;
  PolicyBook policies_;
  GatewayCounts counts_;
  std::atomic<std::uint64_t> asked_ = 0;
};

}  // namespace orrery::s3server
