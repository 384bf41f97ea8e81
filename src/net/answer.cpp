#include "net/answer.h"

namespace orrery::net {

Answer made(const ServerOptions& options, const Pending& pending,
            const std::function<Response()>& make) {
  Answer answer;
  try {
    answer.response = make();
  } catch (const std::exception&) {
    answer.response = options.refusal(500, "internal error");
  }
  Response& response = answer.response;
  if (!response.source || pending.head) return answer;
  const bool chunked = !response.length && pending.version >= 11;
  answer.pump = std::make_shared<BodyPump>(std::move(response.source), response.length, chunked,
                                           options.piece_bytes);
  answer.pump->make();
  if (answer.pump->failed()) answer = {options.refusal(500, "internal error")};
  return answer;
}

}  // namespace orrery::net
