#include "live/s3server/xml_answer.h"

namespace orrery::s3server {

net::Response error_response(const Refused& refusal, std::string_view resource,
                             std::string_view request_id) {
  const int status = status_of(refusal.code);
  if (status == 304) return {.status = 304, .content_type = "", .headers = refusal.headers};
  s3::XmlElement error{"Error"};
  add_text(error, "Code", refusal.code);
  // What a drive or a database says is for the log, not for a stranger.
  const bool ours = status >= 500 && status != 501;
  add_text(
      error, "Message",
      ours || refusal.message.empty() ? std::string(sentence_of(refusal.code)) : refusal.message);
  add_text(error, "Resource", resource);
  add_text(error, "RequestId", request_id);
  net::Response response = xml_response(error, "", status);
  response.headers = refusal.headers;
  return response;
}

}  // namespace orrery::s3server
