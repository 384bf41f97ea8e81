// What the files of `orrery fabric` share.
#pragma once

#include <memory>

#include "app/cli/verb.h"
#include "output/report/document.h"

namespace orrery::cli {

inline Diagnostic fabric_usage(std::string what, std::string fix) {
  return {.severity = Severity::error,
          .code = "fabric.usage",
          .what = std::move(what),
          .fix = std::move(fix)};
}

inline void print_document(Terminal& terminal, Format format, const report::Document& d) {
  terminal.out << (format == Format::markdown ? to_markdown(d) : to_text(d, terminal.style));
}

template <class Options>
Verb fabric_sub_verb(const std::string& name, const std::string& summary,
                     const std::vector<std::string>& examples, void (*bind)(Options&, Arguments&),
                     ExitCode (*run)(const Options&, Terminal&)) {
  return {.name = name,
          .summary = summary,
          .examples = examples,
          .prepare = [bind, run](Arguments& arguments) -> Run {
            auto options = std::make_shared<Options>();
            bind(*options, arguments);
            return [run, options](Terminal& terminal) { return run(*options, terminal); };
          }};
}

Verb fabric_compare_verb();
Verb fabric_log_verb();

}  // namespace orrery::cli
