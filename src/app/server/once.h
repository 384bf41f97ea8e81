// Texts that take seconds to compute and never change. Each is computed once, by a thread of its
// own, when first requested; until it is ready, requests are asked to retry.
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
  // Returns the text, or nullopt if it is not ready after `patience`. `make` runs once per name,
  // for any number of requests.
  std::optional<Result<std::string>> get(const std::string& name,
                                         const std::function<Result<std::string>()>& make,
                                         std::chrono::milliseconds patience);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Result<std::string>>> made_;
};

}  // namespace orrery::server
