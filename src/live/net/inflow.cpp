#include "live/net/inflow.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace orrery::net {
namespace {

// After this many bytes the handler thread serves other requests. The bytes take some tenths of a
// second; a smaller bound would cost too much, since each change of threads can take milliseconds
// on a busy machine.
constexpr std::uint64_t kTurnBytes = std::uint64_t{256} << 20;

}  // namespace

Inflow::~Inflow() {
  if (socket_ >= 0) ::close(socket_);
}

void Inflow::receive_directly(int socket, std::uint64_t length) {
  socket_ = ::dup(socket);
  left = length;
}

std::size_t Inflow::receive_more() {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(taken.size(), *left));
  if (wanted == 0) return 0;
  const ssize_t came = ::recv(socket_, taken.data(), wanted, MSG_DONTWAIT);
  // The I/O thread handles silence and faults: it waits, or finds out when it reads.
  if (came <= 0) return 0;
  *left -= static_cast<std::uint64_t>(came);
  last = *left == 0;
  return static_cast<std::size_t>(came);
}

std::optional<Response> Inflow::take(std::size_t received, bool is_last) {
  std::uint64_t turn = 0;
  while (true) {
    const std::string_view piece = std::string_view(taken).substr(0, received);
    if (!piece.empty()) {
      if (auto refusal = sink->take(piece)) return refusal;
    }
    turn += received;
    if (is_last || !is_direct() || turn >= kTurnBytes) return std::nullopt;
    received = receive_more();
    is_last = last;
    if (received == 0) return std::nullopt;
  }
}

}  // namespace orrery::net
