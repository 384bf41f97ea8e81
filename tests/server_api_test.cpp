// The REST interface compared with docs/api/openapi.yaml: both list the same addresses, every
// answer has the documented shape, and requests generated from it, good and bad, never cause a 5xx.
//
// ORRERY_FULL=1 makes as many requests as fit into a night; ORRERY_SEED selects another sequence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "app/server/console.h"
#include "core/base/random.h"
#include "core/base/text.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRequests = 400;
constexpr int kRequestsFull = 20'000;

Json scalar_of(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true" || text == "false") return text == "true";
  if (const auto whole = parse_integer(text)) return *whole;
  if (const auto number = parse_number(text)) return *number;
  return text;
}

Json json_of_yaml(const YAML::Node& node) {
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& item : node) object[item.first.Scalar()] = json_of_yaml(item.second);
    return object;
  }
  if (node.IsSequence()) {
    Json array = Json::array();
    for (const auto& item : node) array.push_back(json_of_yaml(item));
    return array;
  }
  return node.IsScalar() ? scalar_of(node) : Json();
}

// Returns a member of a schema by reference, because copying schemas would take most of the time.
const Json& member(const Json& schema, const char* name, const Json& otherwise) {
  const auto it = schema.find(name);
  return it != schema.end() ? *it : otherwise;
}

struct Operation {
  std::string method;
  std::string path;
  Json what;
};

class Contract {
 public:
  Contract() : all_(json_of_yaml(YAML::LoadFile(ORRERY_SOURCE_DIR "/docs/api/openapi.yaml"))) {}

  std::vector<Operation> operations() const {
    std::vector<Operation> found;
    for (const auto& [path, item] : all_["paths"].items()) {
      for (const auto& [method, what] : item.items()) {
        if (method == "parameters") continue;
        Operation operation{upper(method), path, what};
        if (item.contains("parameters")) operation.what["parameters"] = item["parameters"];
        found.push_back(std::move(operation));
      }
    }
    return found;
  }

  // The result may be the schema itself, so a temporary is not allowed.
  const Json& resolved(Json&& schema) const = delete;
  const Json& resolved(const Json& schema) const {
    if (!schema.is_object() || !schema.contains("$ref")) return schema;
    std::string pointer = schema["$ref"].get<std::string>().substr(1);
    return resolved(all_.at(Json::json_pointer(pointer)));
  }

  // Returns why `value` does not match the schema; empty if it does.
  std::string complaint(const Json& value, const Json& given, const std::string& at = "$") const {
    const Json& schema = resolved(given);
    if (schema.contains("oneOf")) return complaint_of_any(value, schema["oneOf"], at);
    if (schema.contains("const") && schema["const"] != value) return at + " is another constant";
    if (schema.contains("enum") && !contains(schema["enum"], value)) {
      return at + " is not of its enum: " + value.dump();
    }
    if (schema.contains("type") && !is_of_type(value, schema["type"])) {
      return at + " is no " + schema["type"].dump() + ": " + value.dump().substr(0, 60);
    }
    if (value.is_object()) return complaint_of_object(value, schema, at);
    if (!value.is_array() || !schema.contains("items")) return "";
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto why = complaint(value[i], schema["items"], at + '[' + std::to_string(i) + ']');
      if (!why.empty()) return why;
    }
    return "";
  }

 private:
  static std::string upper(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  }
  static bool contains(const Json& list, const Json& value) {
    return std::ranges::find(list, value) != list.end();
  }

  static bool is_of_type(const Json& value, const Json& type) {
    if (type.is_array()) {
      return std::ranges::any_of(type, [&](const Json& t) { return is_of_type(value, t); });
    }
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "integer" && value.is_number_integer()) ||
           (type == "number" && value.is_number()) || (type == "null" && value.is_null());
  }

  std::string complaint_of_any(const Json& value, const Json& schemas,
                               const std::string& at) const {
    std::string why;
    for (const Json& schema : schemas) {
      why = complaint(value, schema, at);
      if (why.empty()) return "";
    }
    return why;
  }

  std::string complaint_of_object(const Json& value, const Json& schema,
                                  const std::string& at) const {
    static const Json kNone = Json::object();
    // An answer must not have keys that the contract does not list, unless it lists none at all:
    // the console's types are generated from it.
    const Json otherwise = !schema.contains("properties");
    for (const Json& name : member(schema, "required", kNone)) {
      if (!value.contains(name)) return at + " lacks " + name.get<std::string>();
    }
    const Json& properties = member(schema, "properties", kNone);
    const Json& more = member(schema, "additionalProperties", otherwise);
    for (const auto& [name, field] : value.items()) {
      const std::string below = at + '.' + name;
      const auto property = properties.find(name);
      std::string why;
      if (property != properties.end()) {
        why = complaint(field, *property, below);
      } else if (more.is_object()) {
        why = complaint(field, more, below);
      } else if (more == false) {
        why = below + " is not in the contract";
      }
      if (!why.empty()) return why;
    }
    return "";
  }

  Json all_;
};

const Contract& contract() {
  static const Contract* all = new Contract;
  return *all;
}

// The console as `orrery serve` creates it, without sockets and without a file.
class Served {
 public:
  Served() {
    server::ConsoleSetting setting{.models = machine::known(), .version = "0"};
    setting.served = [] {
      return server::ServedDesign{
          .file = "sample.yaml",
          .text = std::string(design_text::find_template("single-node")->text)};
    };
    console = server::Console::open(std::move(setting),
                                    server::JobStore::open(server::kStoreInMemory).value())
                  .value();
  }

  net::Response ask(const std::string& method, const std::string& target,
                    const std::string& body = {}) const {
    return console->answer({.method = method,
                            .target = target,
                            .headers = {{"Host", "127.0.0.1:1"}, {"Authorization", "Bearer t"}},
                            .body = body},
                           {.port = 1, .token = "t"});
  }

  std::unique_ptr<server::Console> console;
};

const Served& served() {
  static const Served* all = new Served;
  return *all;
}

// Returns how this answer differs from the contract; empty if it agrees. Refusals that every
// address shares (an unknown path, a body that is not JSON) need not be listed at each.
std::string disagreement(const Operation& operation, const net::Response& response) {
  const Json& responses = operation.what["responses"];
  const std::string status = std::to_string(response.status);
  if (response.status >= 500 && response.status != 503) return "a fault of ours: " + response.body;
  if (response.status >= 400) {
    const bool shared = response.status == 404 || response.status == 400;
    if (!responses.contains(status) && !shared) return status + " is not in the contract";
    if (response.content_type.starts_with("text/html")) return "";
    const Json body = Json::parse(response.body, nullptr, false);
    return contract().complaint(body, {{"$ref", "#/components/schemas/Problem"}});
  }
  if (!responses.contains(status)) return status + " is not in the contract";
  const Json& content = contract().resolved(responses[status]).value("content", Json::object());
  const std::string type = response.content_type.substr(0, response.content_type.find(';'));
  if (content.contains("*/*") || content.empty()) return "";
  if (!content.contains(type)) return type + " is not in the contract";
  if (type != "application/json") return "";
  const Json body = Json::parse(response.body, nullptr, false);
  if (body.is_discarded()) return "not JSON: " + response.body.substr(0, 100);
  return contract().complaint(body, content[type]["schema"]);
}

// Generates values from a schema: mostly valid ones, sometimes invalid ones.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed, "api") {
    for (const design_text::Template& t : design_text::templates()) designs_.emplace_back(t.text);
  }

  bool chance(double share) { return random_.uniform() < share; }
  template <class List>
  const auto& one_of(const List& list) {
    return list[random_.below(list.size())];
  }

  std::string design() {
    std::string text = one_of(designs_);
    while (chance(0.3)) spoil(text);
    return text;
  }

  // `wild` is how often a value is invalid.
  Json value(const Json& given, double wild, int depth = 0) {
    if (given.is_object() && given.value("$ref", "") == "#/components/schemas/Yaml") {
      return chance(wild) ? wrong(depth) : Json(design());
    }
    const Json& schema = contract().resolved(given);
    if (chance(wild)) return wrong(depth);
    if (schema.contains("example") && chance(0.5)) return schema["example"];
    if (schema.contains("const")) return schema["const"];
    if (schema.contains("enum")) return one_of(schema["enum"]);
    if (schema.contains("oneOf")) return value(one_of(schema["oneOf"]), wild, depth + 1);
    Json type = schema.value("type", Json("string"));
    if (type.is_array()) type = one_of(type);
    if (type == "object") return object(schema, wild, depth);
    if (type == "array") return array(schema, wild, depth);
    if (type == "integer") return std::llround(number(schema));
    if (type == "number") return number(schema);
    if (type == "boolean") return chance(0.5);
    return type == "null" ? Json() : Json(word());
  }

  std::string target(const Operation& operation) {
    std::string path = operation.path;
    for (const Json& parameter : operation.what.value("parameters", Json::array())) {
      const std::string hole = "{" + parameter["name"].get<std::string>() + "}";
      const std::size_t at = path.find(hole);
      const std::string text = chance(0.8) ? parameter.value("example", word()) : path_word();
      if (at != std::string::npos) path.replace(at, hole.size(), text);
      if (at == std::string::npos && chance(0.3)) path += "?" + text;
    }
    return path;
  }

  std::string body(const Operation& operation) {
    if (!operation.what.contains("requestBody")) return chance(0.1) ? word() : "";
    const Json& content = operation.what["requestBody"]["content"];
    if (content.contains("application/yaml")) return chance(0.9) ? design() : noise();
    if (chance(0.05)) return noise();
    const double wild = chance(0.5) ? 0 : 0.15;
    std::string text = value(content["application/json"]["schema"], wild)
                           .dump(-1, ' ', false, Json::error_handler_t::replace);
    if (chance(0.05)) spoil(text);
    return text;
  }

 private:
  Json object(const Json& schema, double wild, int depth) {
    Json made = Json::object();
    const Json required = schema.value("required", Json::array());
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, field] : properties.items()) {
      const bool must = std::ranges::find(required, Json(name)) != required.end();
      if (must ? !chance(wild) : chance(0.4)) made[name] = value(field, wild, depth + 1);
    }
    if (chance(wild) || properties.empty()) made[word()] = wrong(depth);
    return made;
  }

  Json array(const Json& schema, double wild, int depth) {
    Json made = Json::array();
    const auto least = schema.value("minItems", 0);
    for (int i = 0; i < least || (i < 4 && chance(0.5)); ++i) {
      made.push_back(value(schema["items"], wild, depth + 1));
    }
    return made;
  }

  double number(const Json& schema) {
    const double least = schema.value("minimum", 0.0);
    const double most = schema.value("maximum", least + 1000);
    if (chance(0.2)) return chance(0.5) ? least : most;
    // Small values are as frequent as large ones.
    return least + (most - least) * std::pow(random_.uniform(), 6);
  }

  Json wrong(int depth) {
    static const std::vector<Json> kOdd = {
        Json(),  true,  0,    -1,     1e308,         -1e-308,        9223372036854775807, "",
        "null",  "..",  "\n", "\x7f", Json::array(), Json::object(), "\xf0\x9f\xa6\x84",  "-0",
        "1e999", "%00", "{{"};
    if (chance(0.1)) return std::string(random_.below(5000), 'x');
    if (chance(0.1) && depth < 20) return Json::array({wrong(depth + 1)});
    return one_of(kOdd);
  }

  std::string word() {
    static const std::vector<std::string> kWords = {"train",
                                                    "pretrain",
                                                    "llama-3-8b",
                                                    "dgx-h100",
                                                    "leaf-0",
                                                    "spine-1:leaf-0",
                                                    "8",
                                                    "40 GB/s",
                                                    "fleet[0].count",
                                                    "site.cooling",
                                                    "workloads[9]",
                                                    "h100-sxm",
                                                    "",
                                                    "name",
                                                    "2T",
                                                    "-5 s"};
    return one_of(kWords);
  }

  std::string path_word() {
    static const std::vector<std::string> kWords = {
        "none",     "..",       "%2e%2e", "a%00b",   "~",
        "0",        "1",        "2",      "-1",      "99999999999999999999",
        "\xc3\xa9", "training", "steps",  "storage", "collectives",
        "models",   "memory",   "tco",    "power"};
    return one_of(kWords);
  }

  std::string noise() {
    std::string text(random_.below(200), '\0');
    for (char& c : text) c = static_cast<char>(random_.below(256));
    if (chance(0.3)) text = std::string(100'000, chance(0.5) ? '[' : '{');
    return text;
  }

  void spoil(std::string& text) {
    if (text.empty()) return;
    const std::size_t at = random_.below(text.size());
    switch (random_.below(4)) {
      case 0:
        text.erase(at, 1 + random_.below(30));
        break;
      case 1:
        text.insert(at, word());
        break;
      case 2:
        text[at] = static_cast<char>(random_.below(256));
        break;
      default: {
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + random_.below(10));
      }
    }
  }

  RandomStream random_;
  std::vector<std::string> designs_;
};

TEST(Api, routes_and_contract_name_the_same_addresses) {
  std::set<std::string> written;
  for (const Operation& o : contract().operations()) written.insert(o.method + ' ' + o.path);
  std::set<std::string> routed;
  for (const server::Route& r : served().console->router().routes()) {
    routed.insert(r.method + ' ' + r.pattern);
  }
  EXPECT_EQ(written, routed);
}

TEST(Api, every_address_answers_its_own_example_as_the_contract_says) {
  int good = 0;
  for (const Operation& o : contract().operations()) {
    if (o.method == "DELETE" || o.path.find("/jobs/{id}") != std::string::npos) continue;
    if (o.path.find("/runs/{id}") != std::string::npos) continue;
    std::string target = o.path;
    for (const Json& p : o.what.value("parameters", Json::array())) {
      const std::size_t at = target.find('{');
      if (at != std::string::npos) {
        target.replace(at, target.find('}') - at + 1, p["example"].get<std::string>());
      }
    }
    std::string body;
    if (o.what.contains("requestBody")) {
      const Json& content = o.what["requestBody"]["content"];
      const bool yaml = content.contains("application/yaml");
      body = yaml ? content["application/yaml"]["example"].get<std::string>() : "{}";
      if (!yaml) {
        const Json& schema = contract().resolved(content["application/json"]["schema"]);
        Json made = schema.value("example", Json::object());
        for (const Json& required : schema.value("required", Json::array())) {
          const auto name = required.get<std::string>();
          const Json& field = contract().resolved(schema["properties"][name]);
          if (field.contains("enum")) made[name] = field["enum"][0];
          if (field.contains("example")) made[name] = field["example"];
          if (name == "designs") {
            const Json reference = {{"$ref", "#/components/schemas/Yaml"}};
            const Json text = contract().resolved(reference)["example"];
            made[name] =
                Json::array({{{"name", "a"}, {"text", text}}, {{"name", "b"}, {"text", text}}});
          }
        }
        body = made.dump();
      }
    }
    const net::Response response = served().ask(o.method, target, body);
    EXPECT_EQ(disagreement(o, response), "") << o.method << ' ' << target;
    // There is no asset with that name, and no file is served that could be saved.
    const bool is_refused = o.path == "/assets/{name}" || o.path == "/api/v1/save";
    EXPECT_LT(response.status, is_refused ? 410 : 300) << target << '\n' << response.body;
    good += response.status < 300;
  }
  EXPECT_GT(good, 20);
}

TEST(Api, every_view_of_every_template_matches_its_schema) {
  const std::vector<Operation> operations = contract().operations();
  for (const design_text::Template& t : design_text::templates()) {
    for (const Operation& o : operations) {
      const bool takes_design = o.path == "/api/v1/fabric" || o.path == "/api/v1/hall" ||
                                o.path == "/api/v1/training" || o.path == "/api/v1/serving" ||
                                o.path == "/api/v1/storage" || o.path == "/api/v1/plan";
      if (!takes_design) continue;
      // This address simulates requests: one template is enough unless there is time.
      const bool is_dear = o.path == "/api/v1/serving" && t.name != "superpod-h100";
      if (is_dear && std::getenv("ORRERY_FULL") == nullptr) continue;
      const std::string text(t.text);
      const bool yaml = o.path == "/api/v1/plan";
      const net::Response response =
          served().ask("POST", o.path, yaml ? text : Json{{"design", text}}.dump());
      EXPECT_EQ(disagreement(o, response), "") << t.name << ' ' << o.path;
    }
  }
}

// Runs of all templates take half a minute under the sanitizers; the release build runs them all.
#ifdef ORRERY_OPTIMISED
constexpr std::size_t kTemplateStep = 1;
#else
constexpr std::size_t kTemplateStep = 5;
#endif

TEST(Api, every_view_of_a_run_matches_its_schema) {
  const std::vector<Operation> operations = contract().operations();
  std::size_t seen = 0;
  for (const design_text::Template& t : design_text::templates()) {
    if (seen++ % kTemplateStep != 0) continue;
    const Json request = {{"design", t.text}, {"span", "5 d"}, {"replications", 2}};
    const net::Response started = served().ask("POST", "/api/v1/runs", request.dump());
    ASSERT_EQ(started.status, 202) << t.name << '\n' << started.body;
    const auto id = Json::parse(started.body)["id"].get<std::string>();
    const auto job = [&] { return served().console->jobs().find(*parse_integer(id)); };
    for (int i = 0; i < 60'000 && !job()->has_ended(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (const Operation& o : operations) {
      const std::size_t hole = o.path.find("{id}");
      const bool is_view = o.path.starts_with("/api/v1/runs/{id}") || o.path == "/api/v1/jobs/{id}";
      if (o.method != "GET" || !is_view) continue;
      const std::string target = o.path.substr(0, hole) + id + o.path.substr(hole + 4);
      const net::Response response = served().ask("GET", target);
      EXPECT_EQ(response.status, 200) << t.name << ' ' << target;
      EXPECT_EQ(disagreement(o, response), "") << t.name << ' ' << target;
    }
    served().ask("DELETE", "/api/v1/jobs/" + id);
  }
}

TEST(Api, requests_generated_from_the_contract_never_cause_a_5xx) {
  const char* seed = std::getenv("ORRERY_SEED");
  Maker maker(seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1);
  const bool full = std::getenv("ORRERY_FULL") != nullptr;
  const int requests = full ? kRequestsFull : kRequests;
  const std::vector<Operation> operations = contract().operations();
  std::map<int, int> by_status;
  for (int i = 0; i < requests; ++i) {
    const Operation& o = maker.one_of(operations);
    const std::string target = maker.target(o);
    const std::string body = maker.body(o);
    net::Response response = served().ask(o.method, target, body);
    if (response.events) response = {.content_type = "text/event-stream"};
    ++by_status[response.status];
    // A random path may be another existing address, which has its own answers.
    const bool same =
        served().console->router().answer({.method = "OPTIONS", .target = target}).pattern ==
        o.path;
    if (response.status >= 500 || same) {
      ASSERT_EQ(disagreement(o, response), "")
          << "request " << i << ": " << o.method << ' ' << target << '\n'
          << body.substr(0, 2000);
    }
  }
  for (const auto& [status, count] : by_status) {
    std::cout << status << ": " << count << " answers\n";
  }
  EXPECT_GT(by_status[200], requests / 10);
  EXPECT_GT(by_status[400], requests / 50);
  EXPECT_GT(by_status[422], requests / 50);
}

}  // namespace
}  // namespace orrery
