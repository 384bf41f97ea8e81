#include "app/server/once.h"

namespace orrery::server {

std::optional<Result<std::string>> OnceTexts::get(const std::string& name,
                                                  const std::function<Result<std::string>()>& make,
                                                  std::chrono::milliseconds patience) {
  std::shared_future<Result<std::string>> text;
  {
    const std::lock_guard lock(mutex_);
    auto& made = made_[name];
    if (!made.valid()) made = std::async(std::launch::async, make).share();
    text = made;
  }
  if (text.wait_for(patience) != std::future_status::ready) return std::nullopt;
  return text.get();
}

}  // namespace orrery::server
