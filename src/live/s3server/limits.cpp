#include "live/s3server/limits.h"

#include <algorithm>

namespace orrery::s3server {
namespace {

constexpr double kBurstSeconds = 2;
constexpr std::size_t kAccountsMax = 10'000;  // number of addresses; above it, idle ones are
                                              // forgotten
constexpr TimeMs kIdleMs = 10'000;

}  // namespace

std::unique_ptr<ClientLimits::Turn> ClientLimits::enter(const std::string& client, TimeMs now) {
  const std::scoped_lock lock(mutex_);
  if (accounts_.size() > kAccountsMax) forget_idle(now);
  const auto [at, fresh] = accounts_.try_emplace(client);
  Account& account = at->second;
  const double most = limit_.requests_per_s * kBurstSeconds;
  if (fresh) {
    account.tokens = most;
  } else {
    const auto passed = static_cast<double>(std::max<TimeMs>(0, now - account.filled_ms)) / 1000;
    account.tokens = std::min(most, account.tokens + passed * limit_.requests_per_s);
  }
  account.filled_ms = now;
  if (limit_.at_once > 0 && account.under_way >= limit_.at_once) return nullptr;
  if (limit_.requests_per_s > 0 && account.tokens < 1) return nullptr;
  account.tokens -= 1;
  ++account.under_way;
  return std::make_unique<Turn>(*this, client);
}

void ClientLimits::leave(const std::string& client) {
  const std::scoped_lock lock(mutex_);
  const auto at = accounts_.find(client);
  if (at != accounts_.end()) --at->second.under_way;
}

void ClientLimits::forget_idle(TimeMs now) {
  std::erase_if(accounts_, [&](const auto& one) {
    return one.second.under_way == 0 && now - one.second.filled_ms > kIdleMs;
  });
}

QuotaBook::Hold::~Hold() {
  const std::scoped_lock lock(account_.mutex);
  account_.held -= bytes_;
}

Answer<void> QuotaBook::Hold::extend_to(std::uint64_t bytes) {
  if (bytes <= bytes_) return {};
  const std::scoped_lock lock(account_.mutex);
  const auto used = ask_.used();
  if (!used) return std::unexpected(used.error());
  const std::uint64_t more = bytes - bytes_;
  const std::uint64_t taken = *used + account_.held;
  if (taken > ask_.quota || more > ask_.quota - taken) return refused("QuotaExceeded");
  account_.held += more;
  bytes_ = bytes;
  return {};
}

Answer<std::unique_ptr<QuotaBook::Hold>> QuotaBook::hold(Ask ask, std::uint64_t bytes) {
  Account* account = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    account = &accounts_[ask.tenant];
  }
  auto made = std::make_unique<Hold>(*account, std::move(ask));
  if (auto good = made->extend_to(bytes); !good) return std::unexpected(good.error());
  return made;
}

}  // namespace orrery::s3server
