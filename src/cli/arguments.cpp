#include "cli/arguments.h"

#include <CLI/CLI.hpp>

#include "base/text.h"

namespace orrery {
namespace {

constexpr int kJobsMax = 1024;

template <class T>
CLI::Option* bind(CLI::App& app, const std::string& name, T& field, const std::string& help) {
  CLI::Option* option = app.add_option(name, field, help);
  option->capture_default_str();
  return option;
}

template <class T>
CLI::Option* bind_optional(CLI::App& app, const std::string& name, std::optional<T>& field,
                           const std::string& help) {
  return app.add_option_function<T>(name, [&field](const T& value) { field = value; }, help);
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

// The type name "text|json" is what --help shows and what the completion scripts split again.
void limit_to(CLI::Option& option, const std::vector<std::string>& choices) {
  option.type_name(joined(choices, "|"));
  option.check(
      [choices](const std::string& given) -> std::string {
        if (std::ranges::find(choices, given) != choices.end()) return {};
        const auto near = nearest(given, choices);
        return "'" + given + "' is not one of " + joined(choices, ", ") +
               (near ? "; did you mean " + *near + "?" : "");
      },
      "");
}

}  // namespace

const char* to_text(Format f) {
  switch (f) {
    case Format::text:
      return "text";
    case Format::json:
      return "json";
    case Format::markdown:
      return "markdown";
    case Format::html:
      return "html";
    case Format::csv:
      return "csv";
  }
  return "text";
}

void Arguments::positional(const std::string& name, std::string& field, const std::string& help) {
  last_ = app_.add_option(name, field, help)->required()->type_name("");
}

void Arguments::positional_choice(const std::string& name, std::string& field,
                                  const std::vector<std::string>& choices,
                                  const std::string& help) {
  positional(name, field, help);
  limit_to(*last_, choices);
}

void Arguments::optional_positional(const std::string& name, std::string& field,
                                    const std::string& help) {
  last_ = app_.add_option(name, field, help)->type_name("");
}

void Arguments::positionals(const std::string& name, std::vector<std::string>& field,
                            const std::string& help) {
  last_ = app_.add_option(name, field, help)->type_name("");
}

void Arguments::option(const std::string& name, std::string& field, const std::string& help,
                       const std::string& unit) {
  last_ = bind(app_, name, field, help)->type_name(unit);
}

void Arguments::option(const std::string& name, std::optional<std::string>& field,
                       const std::string& help, const std::string& unit) {
  last_ = bind_optional(app_, name, field, help)->type_name(unit);
}

void Arguments::option(const std::string& name, std::int64_t& field, const std::string& help,
                       const std::string& unit) {
  last_ = bind(app_, name, field, help)->type_name(unit);
}

void Arguments::option(const std::string& name, std::optional<std::int64_t>& field,
                       const std::string& help, const std::string& unit) {
  last_ = bind_optional(app_, name, field, help)->type_name(unit);
}

void Arguments::option(const std::string& name, double& field, const std::string& help,
                       const std::string& unit) {
  last_ = bind(app_, name, field, help)->type_name(unit);
}

void Arguments::option(const std::string& name, std::optional<double>& field,
                       const std::string& help, const std::string& unit) {
  last_ = bind_optional(app_, name, field, help)->type_name(unit);
}

void Arguments::option(const std::string& name, std::vector<std::string>& field,
                       const std::string& help, const std::string& unit) {
  last_ = app_.add_option(name, field, help)->type_name(unit)->allow_extra_args(false);
}

void Arguments::choice(const std::string& name, std::string& field,
                       const std::vector<std::string>& choices, const std::string& help) {
  last_ = bind(app_, name, field, help);
  limit_to(*last_, choices);
}

void Arguments::flag(const std::string& name, bool& field, const std::string& help) {
  last_ = app_.add_flag(name, field, help);
}

void Arguments::required() { last_->required(); }

void Arguments::format(Format& field, const std::vector<Format>& offered) {
  std::vector<std::string> names;
  for (const Format f : offered) names.emplace_back(to_text(f));
  last_ = app_.add_option_function<std::string>(
      "--format",
      [&field, offered](const std::string& given) {
        for (const Format f : offered) {
          if (given == to_text(f)) field = f;
        }
      },
      "form of the answer");
  limit_to(*last_, names);
  last_->default_str(to_text(field));
}

void Arguments::seed(std::uint64_t& field) {
  last_ = bind(app_, "--seed", field, "seed of the random streams")->type_name("N");
}

void Arguments::jobs(int& field) {
  last_ = bind(app_, "--jobs", field, "threads; the result is the same for any number")
              ->type_name("N")
              ->check(CLI::Range(1, kJobsMax));
}

}  // namespace orrery
