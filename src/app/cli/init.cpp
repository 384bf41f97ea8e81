// `orrery init`: writes a design to start from, or the schema with which editors check a design.
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "live/files/replace.h"
#include "model/design_text/schema.h"
#include "model/design_text/templates.h"

namespace orrery::cli {
namespace {

struct InitOptions {
  std::string name;
  std::string output;
  bool list = false;
  bool schema = false;
  bool force = false;
  Format format = Format::text;
};

void list_templates(Format format, Terminal& terminal) {
  const auto all = design_text::templates();
  if (format == Format::json) {
    JsonWriter json;
    json.begin_object().field("schema_version", 1).key("templates").begin_array();
    for (const design_text::Template& t : all) {
      json.begin_object().field("name", t.name).field("summary", t.summary).end_object();
    }
    json.end_array().end_object();
    terminal.out << json.text() << '\n';
    return;
  }
  report::Table table{.header = {}, .rows = {}, .flush_right = {}};
  for (const design_text::Template& t : all) {
    table.rows.push_back({std::string(t.name), std::string(t.summary)});
  }
  report::Document document;
  document.table(std::move(table));
  terminal.out << to_text(document, terminal.style);
}

Result<std::string_view> template_text(const std::string& name) {
  if (const auto found = design_text::find_template(name)) return found->text;
  std::vector<std::string> names;
  for (const design_text::Template& t : design_text::templates()) names.emplace_back(t.name);
  const auto close = nearest(name, names);
  return fail({.code = "init.unknown-template",
               .what = fmt::format("there is no template `{}`", name),
               .fix = close ? fmt::format("did you mean `{}`?", *close)
                            : std::string("see `orrery init --list`")});
}

std::unexpected<Diagnostics> unwritable(const std::string& path, int error) {
  if (error == EEXIST) {
    return fail({.code = "file.exists",
                 .place = {path, 0, 0},
                 .what = "the file already exists",
                 .why = "it may hold your work",
                 .fix = "choose another name, or add --force to replace it"});
  }
  return fail({.code = "file.unwritable",
               .place = {path, 0, 0},
               .what = fmt::format("cannot write: {}", std::strerror(error))});
}

// Writes a file. Without --force, creating it and checking that it does not exist are one step, so
// a race cannot replace a file. Removes a file that could not be written completely.
Result<void> write_file(const std::string& path, std::string_view text, bool force) {
  if (force) {
    if (files::replace_file(path, text)) return {};
    return unwritable(path, errno);
  }
  std::FILE* file = std::fopen(path.c_str(), "wbx");
  if (!file) return unwritable(path, errno);
  errno = 0;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && is_written) return {};
  const int error = errno;
  std::remove(path.c_str());
  return unwritable(path, error);
}

ExitCode deliver(std::string_view text, const InitOptions& options, Terminal& terminal) {
  if (options.output.empty() || options.output == "-") {
    terminal.out << text;
    return ExitCode::good;
  }
  if (const auto written = write_file(options.output, text, options.force); !written) {
    return refuse(terminal, written.error());
  }
  terminal.err << fmt::format("wrote {}\n", options.output);
  if (!options.schema) terminal.err << fmt::format("next: orrery plan {}\n", options.output);
  return ExitCode::good;
}

ExitCode run_init(const InitOptions& options, Terminal& terminal) {
  if (int{options.list} + int{options.schema} + int{!options.name.empty()} > 1) {
    return refuse(terminal, {{.code = "init.conflict",
                              .what = "--list, --schema and --template exclude each other",
                              .fix = "give one of them"}});
  }
  if (options.schema) {
    const auto knowledge = shipped_knowledge();
    if (!knowledge) {
      refuse(terminal, knowledge.error());
      return ExitCode::internal;
    }
    return deliver(design_text::design_schema(knowledge->catalog), options, terminal);
  }
  if (options.name.empty()) {
    list_templates(options.format, terminal);
    if (!options.list) terminal.err << "start with: orrery init --template NAME -o my.yaml\n";
    return ExitCode::good;
  }
  const auto text = template_text(options.name);
  if (!text) return refuse(terminal, text.error());
  return deliver(*text, options, terminal);
}

}  // namespace

Verb init_verb() {
  return {.name = "init",
          .summary = "Write a starting design, or the schema of the design file",
          .examples = {"orrery init --list", "orrery init --template superpod-h100 -o my.yaml",
                       "orrery init --schema -o design.schema.json"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<InitOptions>();
            arguments.option("-t,--template", options->name, "template to start from", "NAME");
            arguments.option("-o,--output", options->output,
                             "write to this file instead of standard output", "FILE");
            arguments.flag("--list", options->list, "list the templates");
            arguments.flag("--schema", options->schema,
                           "print the JSON Schema of the design file, for editors");
            arguments.flag("--force", options->force, "replace the file if it exists");
            arguments.format(options->format);
            return [options](Terminal& terminal) { return run_init(*options, terminal); };
          }};
}

}  // namespace orrery::cli
