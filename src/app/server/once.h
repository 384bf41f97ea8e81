// Texts that take seconds to make and never change: made once, when first asked for, by a thread of
// their own, while whoever asks is told to come again.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/diagnostic.h"

namespace orrery::server {

class OnceTexts {
 public:
  // nullopt: not ready after `patience`. `make` runs once a name, however many ask.
  std::optional<Result<std::string>> get(const std::string& name,
                                         const std::function<Result<std::string>()>& make,
                                         std::chrono::milliseconds patience);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Result<std::string>>> made_;
};

}  // namespace orrery::server
