// The JSON body of a request, read field by field, with all faults collected.
//
// The depth is limited before the parser sees the text, because the parser is recursive. A field
// that is missing, of the wrong type, out of range or unknown becomes a Diagnostic with the field's
// name. A handler therefore reads all its fields, asks once whether there were faults, and never
// throws.
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
// Longest design, and longest name, that a request may send.
inline constexpr std::size_t kDesignBytes = 1'000'000;
inline constexpr std::size_t kNameBytes = 200;

// Range of a number field.
struct NumberRange {
  double least = 0;
  double most = 0;
};

class JsonBody {
 public:
  // Parses a body. Fails with "body.json" or "body.depth" if it is not usable JSON.
  static Result<JsonBody> parse(std::string_view text);
  ~JsonBody();
  JsonBody(JsonBody&&) noexcept;
  JsonBody& operator=(JsonBody&&) noexcept;

  // Reads a required field. If it is missing, returns an empty text, the first choice or the
  // smallest number, and records a fault.
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
  // Reads an object of texts, numbers and flags, all returned as text.
  std::map<std::string, std::string> plain_values(std::string_view name, std::size_t most);

  // Reads an object, or a list of objects, by the same rules; their faults are added to these.
  bool object(std::string_view name, const std::function<void(JsonBody&)>& read);
  void objects(std::string_view name, std::size_t least, std::size_t most,
               const std::function<void(JsonBody&)>& read);

  // Returns all faults, including fields that the handler never asked for.
  Diagnostics faults() const;

 private:
  struct State;  // parsed value, fields asked for, and faults: json_body.cpp
  explicit JsonBody(std::unique_ptr<State> state);
  void read_below(const State& below, const std::function<void(JsonBody&)>& read);

  std::unique_ptr<State> state_;
};

}  // namespace orrery::server
