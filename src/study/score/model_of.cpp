#include "study/score/model_of.h"

#include <array>
#include <string>
#include <vector>

#include "core/base/text.h"

namespace orrery::score {
namespace {

// Suffixes that say how a model was prepared, not what shape it has.
constexpr std::array<std::string_view, 6> kEnds = {"-hf",           "-v0.1", "-instruct",
                                                   "-instruct-fp8", "-fp8",  "-base"};
std::string as_id(std::string_view name) {
  std::string id;
  for (const char c : lowered(name)) id += c == ' ' || c == '_' ? '-' : c;
  const auto version = id.find("-v");
  const bool numbered = version != std::string::npos && version + 2 < id.size() &&
                        id[version + 2] >= '1' && id[version + 2] <= '9';
  if (numbered) id.erase(version + 1, 1);
  return id;
}

}  // namespace

std::optional<catalog::ModelShape> model_of(std::string_view name, const ScoreInputs& inputs) {
  const std::string low = lowered(name);
  std::string id = as_id(low.substr(low.find('/') + 1));
  std::vector<std::string> names = {std::string(name), low, low.substr(low.find('/') + 1), id};
  for (const std::string_view end : kEnds) {
    if (id.ends_with(end)) names.push_back(id = id.substr(0, id.size() - end.size()));
  }
  for (const std::string& n : names) {
    if (const catalog::ModelShape* known = inputs.catalog().model(n)) return *known;
  }
  return inputs.model ? inputs.model(name) : std::nullopt;
}

}  // namespace orrery::score
