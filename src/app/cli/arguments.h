// The options of a verb, bound to the fields that receive them. The parser behind it (CLI11) is a
// heavy header and stays in arguments.cpp.
//
// The field's value at the time of binding is the default that --help shows. Quantities ("20 PB",
// "400 GB/s") are taken as text and read with base/units.h, so that a bare number where a unit
// belongs is refused, as in the design file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace orrery::cli {

enum class Format { text, json, markdown, html, csv };

const char* to_text(Format f);

std::string joined(const std::vector<std::string>& words, std::string_view separator);

class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  // Binds a word without a dash. Words are taken in the order in which they are bound. `name` is in
  // capitals: "FILE".
  void positional(const std::string& name, std::string& field, const std::string& help);
  void positional_choice(const std::string& name, std::string& field,
                         const std::vector<std::string>& choices, const std::string& help);
  void optional_positional(const std::string& name, std::string& field, const std::string& help);
  void optional_positional(const std::string& name, std::optional<std::string>& field,
                           const std::string& help);
  // Binds all remaining words; there may be none.
  void positionals(const std::string& name, std::vector<std::string>& field,
                   const std::string& help);

  // Binds an option. `name` has its dashes and may begin with a short form: "-o,--output". The help
  // shows the value as `unit` ("GB/s", "N", "FILE").
  void option(const std::string& name, std::string& field, const std::string& help,
              const std::string& unit = "TEXT");
  void option(const std::string& name, std::optional<std::string>& field, const std::string& help,
              const std::string& unit = "TEXT");
  void option(const std::string& name, std::int64_t& field, const std::string& help,
              const std::string& unit = "N");
  void option(const std::string& name, std::optional<std::int64_t>& field, const std::string& help,
              const std::string& unit = "N");
  void option(const std::string& name, double& field, const std::string& help,
              const std::string& unit = "X");
  void option(const std::string& name, std::optional<double>& field, const std::string& help,
              const std::string& unit = "X");
  // Binds an option that may be repeated; the values are collected.
  void option(const std::string& name, std::vector<std::string>& field, const std::string& help,
              const std::string& unit = "TEXT");
  void choice(const std::string& name, std::string& field, const std::vector<std::string>& choices,
              const std::string& help);
  void flag(const std::string& name, bool& field, const std::string& help);
  // Makes the option or positional that was bound last mandatory.
  void required();

  // Options that mean the same in every verb.
  void format(Format& field, const std::vector<Format>& offered = {Format::text, Format::json});
  void seed(std::uint64_t& field);
  void jobs(int& field);  // number of threads; never changes a result
  void port(int& field);

 private:
  CLI::App& app_;
  CLI::Option* last_ = nullptr;
};

}  // namespace orrery::cli
