#include "live/net/answer.h"

namespace orrery::net {

Answer made(const ServerOptions& options, const Pending& pending,
            const std::function<Response()>& make, bool in_place) {
  Answer answer;
  try {
    answer.response = make();
    if (answer.response.later && !in_place) answer.response = answer.response.later();
  } catch (const std::exception&) {
    answer.response = options.refusal(500, "internal error");
  }
  Response& response = answer.response;
  if (!response.source || response.later || pending.head) return answer;
  const bool chunked = !response.length && pending.version >= 11;
  answer.pump = std::make_shared<BodyPump>(std::move(response.source), response.length, chunked,
                                           options.piece_bytes);
  answer.pump->make();
  if (answer.pump->failed()) answer = {options.refusal(500, "internal error")};
  return answer;
}

BodyPlan planned(const ServerOptions& options, const Service& service, const Request& request) {
  try {
    return service.plan(request);
  } catch (const std::exception&) {
    return options.refusal(500, "internal error");
  }
}

}  // namespace orrery::net
