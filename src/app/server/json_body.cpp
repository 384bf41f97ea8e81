#include "app/server/json_body.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/text.h"

namespace orrery::server {
namespace {

using Json = nlohmann::json;

// Returns the greatest depth of brackets, not counting those inside strings.
int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return deepest;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

// Returns a text, number or flag as it would be written on a command line; nullopt for anything
// else.
std::optional<std::string> plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_integer()) return value.dump();
  if (value.is_number()) return shortest(value.get<double>());
  return std::nullopt;
}

}  // namespace

struct JsonBody::State {
  std::shared_ptr<const Json> whole;  // owner of the value that `here` points to
  const Json* here = nullptr;
  std::string path;  // "sweep." for fields inside `sweep`
  std::vector<std::string> asked;
  Diagnostics faults;

  // Returns nullptr if the field is missing or null.
  const Json* find(std::string_view name) {
    if (std::ranges::find(asked, name) == asked.end()) asked.emplace_back(name);
    const auto it = here->find(std::string(name));
    return it == here->end() || it->is_null() ? nullptr : &*it;
  }

  const Json* find_required(std::string_view name) {
    const Json* value = find(name);
    if (value == nullptr) fault(name, "is missing");
    return value;
  }

  void fault(std::string_view name, const std::string& what, std::string fix = {}) {
    faults.push_back({.code = "body.field",
                      .what = "`" + path + std::string(name) + "` " + what,
                      .fix = std::move(fix)});
  }

  std::string text_of(const Json& value, std::string_view name, std::size_t bytes_max) {
    if (!value.is_string()) {
      fault(name, "is not a text");
      return {};
    }
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() <= bytes_max) return text;
    fault(name, "is longer than " + std::to_string(bytes_max) + " bytes");
    return {};
  }

  std::string choice_of(const Json& value, std::string_view name,
                        const std::vector<std::string>& choices) {
    if (value.is_string() && std::ranges::count(choices, value.get_ref<const std::string&>()) > 0) {
      return value.get<std::string>();
    }
    fault(name, "is not one of the values it can have", joined(choices));
    return choices.front();
  }

  bool in_range(double v, std::string_view name, NumberRange range) {
    if (v >= range.least && v <= range.most) return true;
    fault(name, "is not between " + shortest(range.least) + " and " + shortest(range.most));
    return false;
  }
};

JsonBody::JsonBody(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonBody::~JsonBody() = default;
JsonBody::JsonBody(JsonBody&&) noexcept = default;
JsonBody& JsonBody::operator=(JsonBody&&) noexcept = default;

Result<JsonBody> JsonBody::parse(std::string_view text) {
  if (!is_valid_utf8(text)) {
    return fail({.code = "body.json", .what = "the body is not UTF-8 text"});
  }
  if (depth_of(text) > kJsonDepthMax) {
    return fail(
        {.code = "body.depth",
         .what = "the body is nested more than " + std::to_string(kJsonDepthMax) + " levels deep"});
  }
  auto whole = std::make_shared<const Json>(Json::parse(text, nullptr, false));
  if (whole->is_discarded()) return fail({.code = "body.json", .what = "the body is not JSON"});
  if (!whole->is_object()) {
    return fail({.code = "body.json",
                 .what = "the body is not an object",
                 .fix = "write { \"name\": value, ... }; docs/api/openapi.yaml has the fields"});
  }
  auto state = std::make_unique<State>();
  state->here = whole.get();
  state->whole = std::move(whole);
  return JsonBody(std::move(state));
}

std::string JsonBody::text(std::string_view name, std::size_t bytes_max) {
  const Json* value = state_->find_required(name);
  return value ? state_->text_of(*value, name, bytes_max) : std::string();
}

std::string JsonBody::choice(std::string_view name, const std::vector<std::string>& choices) {
  const Json* value = state_->find_required(name);
  return value ? state_->choice_of(*value, name, choices) : choices.front();
}

double JsonBody::number(std::string_view name, NumberRange range) {
  return state_->find_required(name) ? optional_number(name, range).value_or(range.least)
                                     : range.least;
}

std::int64_t JsonBody::integer(std::string_view name, NumberRange range) {
  const auto least = static_cast<std::int64_t>(range.least);
  return state_->find_required(name) ? optional_integer(name, range).value_or(least) : least;
}

std::optional<std::string> JsonBody::optional_text(std::string_view name, std::size_t bytes_max) {
  const Json* value = state_->find(name);
  if (value == nullptr) return std::nullopt;
  return state_->text_of(*value, name, bytes_max);
}

std::optional<std::string> JsonBody::optional_choice(std::string_view name,
                                                     const std::vector<std::string>& choices) {
  const Json* value = state_->find(name);
  if (value == nullptr) return std::nullopt;
  return state_->choice_of(*value, name, choices);
}

std::optional<double> JsonBody::optional_number(std::string_view name, NumberRange range) {
  const Json* value = state_->find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    state_->fault(name, "is not a number");
    return std::nullopt;
  }
  const double number = value->get<double>();
  return state_->in_range(number, name, range) ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> JsonBody::optional_integer(std::string_view name, NumberRange range) {
  const Json* value = state_->find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_integer()) {
    state_->fault(name, "is not a whole number");
    return std::nullopt;
  }
  if (!state_->in_range(value->get<double>(), name, range)) return std::nullopt;
  return value->get<std::int64_t>();
}

std::optional<bool> JsonBody::optional_flag(std::string_view name) {
  const Json* value = state_->find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    state_->fault(name, "is neither true nor false");
    return std::nullopt;
  }
  return value->get<bool>();
}

std::vector<std::string> JsonBody::texts(std::string_view name, std::size_t most,
                                         std::size_t bytes_max) {
  const Json* value = state_->find(name);
  std::vector<std::string> out;
  if (value == nullptr) return out;
  if (!value->is_array() || value->size() > most) {
    state_->fault(name, "is not a list of at most " + std::to_string(most));
    return out;
  }
  for (const Json& item : *value) out.push_back(state_->text_of(item, name, bytes_max));
  return out;
}

std::map<std::string, std::string> JsonBody::plain_values(std::string_view name, std::size_t most) {
  const Json* value = state_->find(name);
  std::map<std::string, std::string> out;
  if (value == nullptr) return out;
  if (!value->is_object() || value->size() > most) {
    state_->fault(name, "is not an object of at most " + std::to_string(most) + " values");
    return out;
  }
  for (const auto& [key, item] : value->items()) {
    if (const auto text = plain(item)) {
      out[key] = *text;
    } else {
      state_->fault(std::string(name) + '.' + key, "is not a text, number or flag");
    }
  }
  return out;
}

void JsonBody::read_below(const State& below, const std::function<void(JsonBody&)>& read) {
  JsonBody body(std::make_unique<State>(below));
  read(body);
  for (Diagnostic& d : body.faults()) state_->faults.push_back(std::move(d));
}

bool JsonBody::object(std::string_view name, const std::function<void(JsonBody&)>& read) {
  const Json* value = state_->find(name);
  if (value == nullptr) return false;
  if (!value->is_object()) {
    state_->fault(name, "is not an object");
    return false;
  }
  read_below(
      {.whole = state_->whole, .here = value, .path = state_->path + std::string(name) + '.'},
      read);
  return true;
}

void JsonBody::objects(std::string_view name, std::size_t least, std::size_t most,
                       const std::function<void(JsonBody&)>& read) {
  const Json* value = state_->find_required(name);
  if (value == nullptr) return;
  const bool fits = value->is_array() && value->size() >= least && value->size() <= most &&
                    std::ranges::all_of(*value, [](const Json& item) { return item.is_object(); });
  if (!fits) {
    state_->fault(name, "is not a list of " + std::to_string(least) + " to " +
                            std::to_string(most) + " objects");
    return;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    read_below({.whole = state_->whole,
                .here = &(*value)[i],
                .path = state_->path + std::string(name) + '[' + std::to_string(i) + "]."},
               read);
  }
}

Diagnostics JsonBody::faults() const {
  Diagnostics all = state_->faults;
  for (const auto& [key, value] : state_->here->items()) {
    if (std::ranges::count(state_->asked, key) > 0) continue;
    const auto close = nearest(key, state_->asked);
    all.push_back({.code = "body.unknown",
                   .what = "`" + state_->path + key + "` is not a field of this request",
                   .fix = close ? "did you mean `" + *close + "`?" : joined(state_->asked)});
  }
  return all;
}

}  // namespace orrery::server
