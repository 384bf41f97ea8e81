// Builds the parser from the table of verbs, runs the verb that the words name, and reports usage
// errors with a hint.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/cli/build_info.h"
#include "app/cli/verb.h"
#include "core/base/text.h"
#include "output/report/document.h"

namespace orrery::cli {
namespace {

std::string examples_text(const std::vector<std::string>& examples) {
  if (examples.empty()) return {};
  std::string text = "Examples:\n";
  for (const std::string& example : examples) text += "  " + example + '\n';
  return text;
}

struct Prepared {
  const CLI::App* app = nullptr;
  Run run;
};

void add_verbs(CLI::App& parent, const std::vector<Verb>& verbs, std::vector<Prepared>& prepared) {
  for (const Verb& verb : verbs) {
    CLI::App* app = parent.add_subcommand(verb.name, verb.summary);
    app->group("Verbs");
    app->footer(examples_text(verb.examples));
    if (!verb.verbs.empty()) {
      app->require_subcommand(1);
      add_verbs(*app, verb.verbs, prepared);
    }
    if (verb.prepare) {
      Arguments arguments(*app);
      prepared.push_back({app, verb.prepare(arguments)});
    }
  }
}

std::vector<Prepared> build_parser(CLI::App& program, const std::vector<Verb>& verbs) {
  program.name("orrery");
  program.description(
      "Orrery: a working model of an AI data centre. It reads a design file and prints a verdict.");
  program.footer(
      "`orrery help VERB` shows a verb's options and examples. `orrery explain WORD` explains a "
      "figure,\n"
      "a rule, a field of the design file or a word of the glossary.\n");
  program.set_version_flag("--version", std::string("orrery ") + kVersion,
                           "Print the version and exit");
  program.require_subcommand(1);
  program.get_formatter()->label("SUBCOMMAND", "VERB");
  std::vector<Prepared> prepared;
  add_verbs(program, verbs, prepared);
  return prepared;
}

std::string full_name(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return full_name(*app.get_parent()) + ' ' + app.get_name();
}

// Column at which the parser's help begins the descriptions of options and verbs.
constexpr std::size_t kHelpColumn = 30;

// Returns a help text with descriptions folded to the width. Examples stay whole, so that they can
// be copied.
std::string folded_help(const std::string& help, std::size_t width) {
  std::string out;
  bool is_example = false;
  for (const std::string_view line : split(help, '\n')) {
    is_example = is_example || line == "Examples:";
    const bool is_plain = !line.starts_with(' ');
    const bool has_description = line.size() > width && width > 2 * kHelpColumn && !is_example &&
                                 (is_plain || line.substr(0, kHelpColumn).ends_with(' '));
    if (!has_description) {
      out += std::string(line) + '\n';
      continue;
    }
    const std::size_t column = is_plain ? 0 : kHelpColumn;
    out += line.substr(0, column);
    std::size_t used = column;
    bool is_first = true;
    for (const std::string_view word : split(line.substr(column), ' ')) {
      if (!is_first && used + 1 + word.size() > width) {
        out += '\n' + std::string(column, ' ');
        used = column;
        is_first = true;
      }
      out += (is_first ? "" : " ") + std::string(word);
      used += word.size() + (is_first ? 0 : 1);
      is_first = false;
    }
    out += '\n';
  }
  if (!out.empty()) out.pop_back();  // the last line of `help` has no newline
  return out;
}

// Returns the innermost verb that the words name, so that help and hints are about that verb.
const CLI::App& spoken_of(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* app = &program;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> below = app->get_subcommands(nullptr);
    const auto next = std::ranges::find(below, word, &CLI::App::get_name);
    if (next == below.end()) break;
    app = *next;
  }
  return *app;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Returns a suggestion for the first word that is neither a verb nor an option here; empty if there
// is none.
std::string hint(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<std::string> verbs = verb_names(app);
  const std::vector<std::string> options = option_names(app);
  for (const std::string& word : words) {
    const std::string bare = word.substr(0, word.find('='));
    const std::vector<std::string>& names = bare.starts_with("--") ? options : verbs;
    if (std::ranges::find(names, bare) != names.end()) continue;
    if (const auto near = nearest(bare, names)) return "did you mean " + *near + "?";
  }
  return {};
}

// Returns the usage error for a missing or unknown verb. The parser itself only says that a verb is
// required.
std::string no_verb(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* app = &spoken_of(program, words);
  std::size_t depth = 0;
  for (; app->get_parent() != nullptr; app = app->get_parent()) ++depth;
  if (depth == words.size()) return "missing command";
  return "unknown command '" + words[depth] + "'";
}

ExitCode report_usage(Terminal& terminal, const CLI::App& program,
                      const std::vector<std::string>& words, const std::string& fault) {
  const CLI::App& app = spoken_of(program, words);
  terminal.err << full_name(app) << ": " << fault << '\n';
  const std::string meant = hint(app, words);
  if (!meant.empty()) terminal.err << "  " << meant << '\n';
  terminal.err << "  see " << full_name(app) << " --help\n";
  return ExitCode::bad_input;
}

// Reports a full disk or a closed pipe as a failure of the verb.
ExitCode finish(Terminal& terminal, ExitCode code) {
  terminal.out.flush();
  if (terminal.out) return code;
  terminal.err << "orrery: cannot write to standard output\n";
  return ExitCode::bad_input;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::vector<std::string> choices;
  if (type.find('|') == std::string::npos) return choices;
  for (const std::string_view choice : split(type, '|')) choices.emplace_back(choice);
  return choices;
}

void collect_shapes(const CLI::App& app, std::vector<std::string> path,
                    std::vector<VerbShape>& shapes) {
  VerbShape shape{.path = path,
                  .summary = app.get_description(),
                  .verbs = verb_names(app),
                  .options = {},
                  .choices = {},
                  .words = {},
                  .examples = {}};
  const std::string footer = app.get_footer();
  for (const std::string_view line : split(footer, '\n')) {
    if (line.starts_with("  ")) shape.examples.emplace_back(trimmed(line));
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      if (shape.choices.empty()) shape.choices = choices_of(*option);
      shape.words.push_back({.name = option->get_name(true),
                             .help = option->get_description(),
                             .is_required = option->get_required()});
      continue;
    }
    shape.options.push_back({.name = "--" + option->get_lnames().front(),
                             .help = option->get_description(),
                             .choices = choices_of(*option),
                             .takes_value = option->get_items_expected_max() > 0});
  }
  shapes.push_back(std::move(shape));
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    path.push_back(sub->get_name());
    collect_shapes(*sub, path, shapes);
    path.pop_back();
  }
}

}  // namespace

ExitCode refuse(Terminal& terminal, const Diagnostics& diagnostics) {
  // The line with the place and the code stays whole, for programs that read it.
  const std::string text = to_text(diagnostics);
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const bool is_reason = line.starts_with(' ');
    terminal.err << (is_reason ? report::folded(line, terminal.style.width) : std::string(line))
                 << '\n';
  }
  return ExitCode::bad_input;
}

ExitCode run_command_line(const std::vector<Verb>& verbs, const std::vector<std::string>& given,
                          Terminal& terminal) {
  // `orrery help calc tco` is `orrery calc tco --help`.
  std::vector<std::string> words = given;
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  CLI::App program;
  const std::vector<Prepared> prepared = build_parser(program, verbs);
  try {
    // the parser takes words from the back
    program.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    const CLI::App& app = spoken_of(program, words);
    terminal.out << folded_help(
        app.help(app.get_parent() == nullptr ? "" : full_name(*app.get_parent())),
        terminal.style.width);
    return finish(terminal, ExitCode::good);
  } catch (const CLI::CallForVersion& version) {
    terminal.out << version.what() << '\n';
    return finish(terminal, ExitCode::good);
  } catch (const CLI::RequiredError& error) {
    const bool verb = !spoken_of(program, words).get_subcommands(nullptr).empty();
    return report_usage(terminal, program, words, verb ? no_verb(program, words) : error.what());
  } catch (const CLI::ParseError& error) {
    return report_usage(terminal, program, words, error.what());
  }
  for (const Prepared& p : prepared) {
    if (p.app->parsed() && p.app->get_subcommands().empty()) {
      return finish(terminal, p.run(terminal));
    }
  }
  return report_usage(terminal, program, words, no_verb(program, words));
}

std::vector<VerbShape> shapes_of(const std::vector<Verb>& verbs) {
  CLI::App program;
  build_parser(program, verbs);
  std::vector<VerbShape> shapes;
  collect_shapes(program, {}, shapes);
  return shapes;
}

}  // namespace orrery::cli
