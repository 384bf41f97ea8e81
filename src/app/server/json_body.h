// The JSON body of a request, read field by field with every fault collected.
//
// Depth is limited before the parser sees the text: it recurses by the level. What is missing, of
// the wrong kind, out of range or not known becomes a Diagnostic with the field's name, so that a
// handler reads all it wants, asks once whether there were faults, and never throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"

namespace orrery::server {

inline constexpr int kJsonDepthMax = 32;
// The most a request may send of a design, and of a name.
inline constexpr std::size_t kDesignBytes = 1'000'000;
inline constexpr std::size_t kNameBytes = 200;

// A number field's range; whole numbers and others alike.
struct NumberRange {
  double least = 0;
  double most = 0;
};

class JsonBody {
 public:
  // The fault is "body.json", or "body.depth": what is not JSON at all.
  static Result<JsonBody> parse(std::string_view text);
  ~JsonBody();
  JsonBody(JsonBody&&) noexcept;
  JsonBody& operator=(JsonBody&&) noexcept;

  // A field that must be there; empty, the first choice or the least number stands in where not.
  std::string text(std::string_view name, std::size_t bytes_max);
  std::string choice(std::string_view name, const std::vector<std::string>& choices);
  double number(std::string_view name, NumberRange range);
  std::int64_t integer(std::string_view name, NumberRange range);

  std::optional<std::string> optional_text(std::string_view name, std::size_t bytes_max);
  std::optional<std::string> optional_choice(std::string_view name,
                                             const std::vector<std::string>& choices);
  std::optional<double> optional_number(std::string_view name, NumberRange range);
  std::optional<std::int64_t> optional_integer(std::string_view name, NumberRange range);
  std::optional<bool> optional_flag(std::string_view name);

  std::vector<std::string> texts(std::string_view name, std::size_t most, std::size_t bytes_max);
  // An object of texts, numbers and flags, all written as text.
  std::map<std::string, std::string> plain_values(std::string_view name, std::size_t most);

  // An object, or a list of them, read by the same rules; its faults join these.
  bool object(std::string_view name, const std::function<void(JsonBody&)>& read);
  void objects(std::string_view name, std::size_t least, std::size_t most,
               const std::function<void(JsonBody&)>& read);

  // All faults, those of fields that nobody asked for included.
  Diagnostics faults() const;

 private:
  struct State;  // the parser's value, the fields asked for and the faults: json_body.cpp
  explicit JsonBody(std::unique_ptr<State> state);
  void read_below(const State& below, const std::function<void(JsonBody&)>& read);

  std::unique_ptr<State> state_;
};

}  // namespace orrery::server
