#include "app/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>

#include "core/base/text.h"

namespace orrery::cli {
namespace {

constexpr int kJobsMax = 1024;
constexpr int kPortMax = 65535;

CLI::Option* bind(CLI::App& app, const std::string& name, std::string& field,
                  const std::string& help) {
  return app.add_option(name, field, help)->capture_default_str();
}

template <class T>
std::optional<T> number_from(const std::string& given);
template <>
std::optional<std::int64_t> number_from(const std::string& given) {
  return parse_integer(given);
}
template <>
std::optional<double> number_from(const std::string& given) {
  return parse_number(given);
}

// Reads numbers with base/text.h, because the parser's own conversion accepts 0777 as octal, -1 as
// a huge unsigned number and "nan" as a number.
template <class T>
CLI::Option* bind_number(CLI::App& app, const std::string& name, const std::string& help,
                         const std::function<void(T)>& store) {
  return app.add_option_function<std::string>(
      name,
      [name, store](const std::string& given) {
        const std::optional<T> number = number_from<T>(given);
        const char* wanted = std::is_same_v<T, double> ? "a number" : "a whole number";
        if (!number) throw CLI::ValidationError(name, "'" + given + "' is not " + wanted);
        store(*number);
      },
      help);
}

CLI::Option* bind_within(CLI::App& app, const std::string& name, const std::string& help,
                         std::int64_t low, std::int64_t high,
                         const std::function<void(std::int64_t)>& store) {
  return bind_number<std::int64_t>(app, name, help, [=](std::int64_t given) {
    if (given < low || given > high) {
      throw CLI::ValidationError(name, std::to_string(given) + " is not between " +
                                           std::to_string(low) + " and " + std::to_string(high));
    }
    store(given);
  });
}

// Restricts an option to `choices`. --help shows the type name "text|json", and the completion
// scripts split it again.
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

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

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

void Arguments::optional_positional(const std::string& name, std::optional<std::string>& field,
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
  last_ = app_.add_option_function<std::string>(
                  name, [&field](const std::string& given) { field = given; }, help)
              ->type_name(unit);
}

void Arguments::option(const std::string& name, std::int64_t& field, const std::string& help,
                       const std::string& unit) {
  last_ = bind_number<std::int64_t>(app_, name, help, [&field](std::int64_t given) {
            field = given;
          })->type_name(unit);
  last_->default_str(std::to_string(field));
}

void Arguments::option(const std::string& name, std::optional<std::int64_t>& field,
                       const std::string& help, const std::string& unit) {
  last_ = bind_number<std::int64_t>(app_, name, help, [&field](std::int64_t given) {
            field = given;
          })->type_name(unit);
}

void Arguments::option(const std::string& name, double& field, const std::string& help,
                       const std::string& unit) {
  last_ = bind_number<double>(app_, name, help, [&field](double given) {
            field = given;
          })->type_name(unit);
  last_->default_str(shortest(field));
}

void Arguments::option(const std::string& name, std::optional<double>& field,
                       const std::string& help, const std::string& unit) {
  last_ = bind_number<double>(app_, name, help, [&field](double given) {
            field = given;
          })->type_name(unit);
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
      "output format");
  limit_to(*last_, names);
  last_->default_str(to_text(field));
}

void Arguments::seed(std::uint64_t& field) {
  last_ =
      bind_within(app_, "--seed", "seed for random numbers; the same seed gives the same result", 0,
                  std::numeric_limits<std::int64_t>::max(),
                  [&field](std::int64_t given) { field = static_cast<std::uint64_t>(given); });
  last_->type_name("N")->default_str(std::to_string(field));
}

void Arguments::jobs(int& field) {
  last_ = bind_within(app_, "--jobs", "number of threads; it never changes the result", 1, kJobsMax,
                      [&field](std::int64_t given) { field = static_cast<int>(given); });
  last_->type_name("N")->default_str(std::to_string(field));
}

void Arguments::port(int& field) {
  last_ = bind_within(app_, "--port", "TCP port on 127.0.0.1; 0 picks a free one", 0, kPortMax,
                      [&field](std::int64_t given) { field = static_cast<int>(given); });
  last_->type_name("N")->default_str(std::to_string(field));
}

}  // namespace orrery::cli
