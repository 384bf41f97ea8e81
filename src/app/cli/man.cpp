// `orrery man DIR`: writes the manual pages, one per verb, from the table of verbs that --help
// uses.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "app/cli/build_info.h"
#include "app/cli/verb.h"
#include "core/base/text.h"

namespace orrery::cli {
namespace {

// Escapes a text for roff, which reads a line that begins with a dot or a quote as a command, and a
// backslash anywhere; a hyphen that users type is \-.
std::string roff(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    if (!out.empty()) out += '\n';
    if (line.starts_with('.') || line.starts_with('\'')) out += "\\&";
    for (const char c : line) {
      if (c == '\\') {
        out += "\\e";
      } else if (c == '-') {
        out += "\\-";
      } else {
        out += c;
      }
    }
  }
  return out;
}

std::string page_name(const VerbShape& shape) {
  return shape.path.empty() ? "orrery" : "orrery-" + joined(shape.path, "-");
}

std::string command_of(const VerbShape& shape) {
  return shape.path.empty() ? "orrery" : "orrery " + joined(shape.path, " ");
}

std::string synopsis(const VerbShape& shape) {
  std::string line = ".B " + roff(command_of(shape));
  if (!shape.verbs.empty()) line += "\n.I VERB";
  for (const VerbShape::Word& word : shape.words) {
    line += "\n.I " + roff(word.is_required ? word.name : '[' + word.name + ']');
  }
  return line + "\n.RI [ options ]\n";
}

std::string page(const VerbShape& shape, const std::vector<VerbShape>& all) {
  std::string upper = page_name(shape);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string out = fmt::format(".TH {} 1 \"\" \"orrery {}\" \"Orrery\"\n", roff(upper), kVersion);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(page_name(shape)), roff(shape.summary));
  out += ".SH SYNOPSIS\n" + synopsis(shape);
  if (!shape.verbs.empty()) {
    out += ".SH VERBS\n";
    for (const VerbShape& below : all) {
      const bool is_child = below.path.size() == shape.path.size() + 1 &&
                            std::equal(shape.path.begin(), shape.path.end(), below.path.begin());
      if (!is_child) continue;
      out += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(page_name(below)), roff(below.summary));
    }
  }
  if (!shape.words.empty() || !shape.options.empty()) out += ".SH OPTIONS\n";
  for (const VerbShape::Word& word : shape.words) {
    out += fmt::format(".TP\n.I {}\n{}\n", roff(word.name), roff(word.help));
  }
  for (const VerbShape::Option& option : shape.options) {
    out += fmt::format(".TP\n.B {}{}\n{}\n", roff(option.name),
                       option.choices.empty() ? "" : " " + roff(joined(option.choices, "|")),
                       roff(option.help));
  }
  if (!shape.examples.empty()) {
    out += ".SH EXAMPLES\n.nf\n";
    for (const std::string& example : shape.examples) out += roff(example) + '\n';
    out += ".fi\n";
  }
  out +=
      ".SH EXIT STATUS\n"
      "0 good; 1 the design fails a rule, a goal or a budget; 2 usage error or unreadable file;\n"
      "4 nothing feasible; 70 internal error; 130 interrupted.\n";
  if (!shape.path.empty()) out += ".SH SEE ALSO\n.BR orrery (1)\n";
  return out;
}

ExitCode run_man(const std::string& folder, Terminal& terminal) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::vector<VerbShape> shapes = shapes_of(all_verbs());
  for (const VerbShape& shape : shapes) {
    const std::string path = folder + '/' + page_name(shape) + ".1";
    std::ofstream file(path, std::ios::binary);
    file << page(shape, shapes);
    if (!file.flush()) {
      return refuse(terminal, {{.code = "file.unwritable",
                                .place = {.file = path},
                                .what = "cannot write",
                                .why = {},
                                .fix = {}}});
    }
  }
  terminal.err << fmt::format("wrote {} pages in {}\n", shapes.size(), folder);
  return ExitCode::good;
}

}  // namespace

Verb man_verb() {
  return {.name = "man",
          .summary = "Write the manual pages",
          .examples = {"orrery man ~/.local/share/man/man1"},
          .prepare = [](Arguments& arguments) -> Run {
            auto folder = std::make_shared<std::string>();
            arguments.positional("DIR", *folder, "folder for the pages; created if it is missing");
            return [folder](Terminal& terminal) { return run_man(*folder, terminal); };
          }};
}

}  // namespace orrery::cli
