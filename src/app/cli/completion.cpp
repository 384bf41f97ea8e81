// `orrery completion bash|zsh|fish`: a script generated from the table of verbs, so it is never out
// of date.
#include <fmt/core.h>

#include <memory>

#include "app/cli/arguments.h"
#include "app/cli/verb.h"

namespace orrery::cli {
namespace {

// Returns the words that may follow the words of a path: verbs or fixed choices, and options.
std::string words_after(const VerbShape& shape) {
  std::vector<std::string> words = shape.verbs.empty() ? shape.choices : shape.verbs;
  for (const VerbShape::Option& option : shape.options) words.push_back(option.name);
  return joined(words, " ");
}

// Quotes a text for any shell: a single quote inside ends the quotes, is escaped, and reopens them.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// Serves bash and zsh: zsh loads bash's completion builtins.
std::string bash_script(const std::vector<VerbShape>& shapes) {
  std::string script =
      "# Completion for orrery, made by `orrery completion`.\n"
      "_orrery() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path= w\n"
      "  for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case $w in -*) ;; *) case \" ${_orrery_paths} \" in *\" ${path:+$path/}$w \"*) "
      "path=${path:+$path/}$w ;; esac ;; esac\n"
      "  done\n"
      "  local words=\n"
      "  case $path:$before in\n";
  std::vector<std::string> paths;
  std::string by_path;
  for (const VerbShape& shape : shapes) {
    const std::string path = joined(shape.path, "/");
    if (!path.empty()) paths.push_back(path);
    for (const VerbShape::Option& option : shape.options) {
      if (!option.takes_value) continue;
      // An option without fixed choices takes free text or a file: offer files.
      script += fmt::format("    {}:{}) words={} ;;\n", shell_quoted(path), option.name,
                            shell_quoted(joined(option.choices, " ")));
    }
    by_path += fmt::format("    {}:*) words={} ;;\n", shell_quoted(path),
                           shell_quoted(words_after(shape)));
  }
  script += by_path;
  script +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [ ${#COMPREPLY[@]} -eq 0 ] && COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  return 0\n"
      "}\n";
  script += fmt::format("_orrery_paths={}\n", shell_quoted(joined(paths, " ")));
  return script + "complete -o filenames -F _orrery orrery ./orrery\n";
}

std::string zsh_script(const std::vector<VerbShape>& shapes) {
  return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(shapes);
}

std::string fish_condition(const VerbShape& shape) {
  if (shape.path.empty()) return "__fish_use_subcommand";
  std::string condition;
  for (const std::string& word : shape.path) {
    condition += (condition.empty() ? "" : "; and ");
    condition += "__fish_seen_subcommand_from " + word;
  }
  return condition;
}

std::string fish_script(const std::vector<VerbShape>& shapes) {
  std::string script = "# Completion for orrery, made by `orrery completion`.\n";
  for (const VerbShape& shape : shapes) {
    const std::string condition = shell_quoted(fish_condition(shape));
    for (const std::string& word : shape.verbs.empty() ? shape.choices : shape.verbs) {
      script += fmt::format("complete -c orrery -n {} -a {}\n", condition, word);
    }
    for (const VerbShape::Option& option : shape.options) {
      script += fmt::format("complete -c orrery -n {} -l {} -d {}", condition,
                            option.name.substr(2), shell_quoted(option.help));
      if (option.takes_value) script += " -r";
      if (!option.choices.empty()) {
        script += " -f -a " + shell_quoted(joined(option.choices, " "));
      }
      script += '\n';
    }
  }
  return script;
}

}  // namespace

Verb completion_verb() {
  return {.name = "completion",
          .summary = "Print a completion script for your shell",
          .examples = {"orrery completion bash > ~/.local/share/bash-completion/completions/orrery",
                       "orrery completion fish > ~/.config/fish/completions/orrery.fish"},
          .prepare = [](Arguments& arguments) -> Run {
            auto shell = std::make_shared<std::string>();
            arguments.positional_choice("SHELL", *shell, {"bash", "zsh", "fish"},
                                        "shell that will read the script");
            return [shell](Terminal& terminal) {
              const std::vector<VerbShape> shapes = shapes_of(all_verbs());
              terminal.out << (*shell == "bash"  ? bash_script(shapes)
                               : *shell == "zsh" ? zsh_script(shapes)
                                                 : fish_script(shapes));
              return ExitCode::good;
            };
          }};
}

}  // namespace orrery::cli
