#include "live/s3server/xml_answer.h"

namespace orrery::s3server {
namespace {

constexpr std::string_view kAway =
    "Some drives of the store, or its database, do not answer; please try again.";

}  // namespace

net::Response error_response(const Refused& refusal, std::string_view resource,
                             std::string_view request_id) {
  const int status = status_of(refusal.code);
  if (status == 304) return {.status = 304, .content_type = "", .headers = refusal.headers};
  s3::XmlElement error{"Error"};
  add_text(error, "Code", refusal.code);
  // Details about a drive or a database belong in the log and are not shown to clients.
  const bool ours = status >= 500 && status != 501;
  // A request limit has no message of its own; a tier that does not answer has one.
  const bool is_away = refusal.code == "SlowDown" && !refusal.message.empty();
  add_text(error, "Message",
           is_away                           ? std::string(kAway)
           : ours || refusal.message.empty() ? std::string(sentence_of(refusal.code))
                                             : refusal.message);
  add_text(error, "Resource", resource);
  add_text(error, "RequestId", request_id);
  net::Response response = xml_response(error, "", status);
  response.headers = refusal.headers;
  return response;
}

}  // namespace orrery::s3server
