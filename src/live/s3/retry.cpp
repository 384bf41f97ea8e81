#include "live/s3/retry.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/base/text.h"
#include "live/s3/xml.h"

namespace orrery::s3 {
namespace {

std::string word_of_error(std::string_view body, std::string_view name) {
  const auto root = read_xml(body);
  return root && root->name == "Error" ? std::string(root->text_of(name)) : "";
}

}  // namespace

double backoff_s(const RetryPolicy& policy, int failures, RandomStream& jitter) {
  const double full = std::min(policy.cap_s, policy.base_s * math::exp2(std::min(failures, 30)));
  return full * (0.5 + 0.5 * jitter.uniform());
}

std::optional<double> retry_after_s(const net::Reply& reply) {
  const auto seconds = parse_number(reply.header("retry-after"));
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

Fate fate_of(const net::Reply& reply) {
  switch (reply.fault) {
    case net::NetFault::not_sent:
      return Fate::not_acted;
    case net::NetFault::untrusted:
      return Fate::refused;
    case net::NetFault::broken:
    case net::NetFault::timed_out:
      return Fate::unknown;
    case net::NetFault::none:
      break;
  }
  if (reply.status >= 200 && reply.status < 300) return Fate::done;
  if (reply.status == 429 || reply.status == 503) return Fate::not_acted;
  if (reply.status >= 500 || reply.status == 408 || reply.status < 200) return Fate::unknown;
  // S3 answers RequestTimeout if the body did not arrive in time, and ConditionalRequestConflict if
  // two conditional writers collided. In both cases nothing was stored.
  const std::string code = error_code(reply.body);
  const bool harmless = code == "RequestTimeout" || code == "ConditionalRequestConflict";
  return harmless ? Fate::not_acted : Fate::refused;
}

std::string error_code(std::string_view body) { return word_of_error(body, "Code"); }
std::string error_message(std::string_view body) { return word_of_error(body, "Message"); }

}  // namespace orrery::s3
