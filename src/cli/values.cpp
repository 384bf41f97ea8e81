#include "cli/values.h"

namespace orrery {
namespace {

template <class T>
std::vector<std::string> ids_of(const std::vector<T>& rows) {
  std::vector<std::string> ids;
  for (const T& r : rows) ids.push_back(r.id);
  return ids;
}

}  // namespace

void ValueReader::complain(const std::string& option, const std::string& text,
                           const std::string& wanted) {
  faults_.push_back(
      {.code = "usage.value", .what = option + " is '" + text + "'", .why = "expected " + wanted});
}

void ValueReader::unknown(const std::string& option, const std::string& id,
                          const std::string& table, const std::vector<std::string>& known) {
  const auto close = nearest(id, known);
  faults_.push_back({.code = "usage.part",
                     .what = option + " names '" + id + "', which the catalog does not have",
                     .fix = close ? "did you mean '" + *close + "'?"
                                  : "`orrery catalog " + table + "` lists them"});
}

double ValueReader::count(const std::string& option, const std::string& text) {
  const auto n = parse_count(text);
  if (n && *n > 0) return *n;
  complain(option, text, "a number above zero, such as 1024, 70B or 2T");
  return 1;
}

const ModelShape* ValueReader::model(const std::string& option, const std::string& id) {
  const ModelShape* m = catalog_.model(id);
  if (m == nullptr) unknown(option, id, "models", ids_of(catalog_.models));
  return m;
}

const Accelerator* ValueReader::accelerator(const std::string& option, const std::string& id) {
  const Accelerator* a = catalog_.accelerator(id);
  if (a == nullptr) unknown(option, id, "accelerators", ids_of(catalog_.accelerators));
  return a;
}

const Node* ValueReader::node(const std::string& option, const std::string& id) {
  const Node* n = catalog_.node(id);
  if (n == nullptr) unknown(option, id, "nodes", ids_of(catalog_.nodes));
  return n;
}

const CoolingMethod* ValueReader::cooling(const std::string& option, const std::string& id) {
  const CoolingMethod* c = catalog_.cooling(id);
  if (c == nullptr) unknown(option, id, "cooling_methods", ids_of(catalog_.cooling_methods));
  return c;
}

}  // namespace orrery
