// `orrery serve FILE`: the review of a design as a page on 127.0.0.1, and the REST interface.
//
// The file is read again for every page, so that saving it and reloading shows the new review.
#include <fmt/core.h>
#include <sys/random.h>

#include <array>
#include <memory>
#include <sstream>

#include "base/text.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "design/design.h"
#include "plan/review.h"
#include "report/verdict_report.h"
#include "server/access.h"
#include "server/handlers.h"
#include "server/http_server.h"

namespace orrery {
namespace {

constexpr int kPortDefault = 8117;
constexpr std::size_t kTokenBytes = 16;

struct ServeOptions {
  std::string design;
  int port = kPortDefault;
};

std::string random_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string token;
  for (const unsigned char b : bytes) token += fmt::format("{:02x}", b);
  return token;
}

Result<Verdict> reviewed(std::string_view text, const Knowledge& knowledge, const std::string& file,
                         ReadFile read_file) {
  const Result<design::Design> design = design::read_design(
      text, knowledge.catalog, {.file = file, .read_file = std::move(read_file)});
  if (!design) return std::unexpected(design.error());
  return review(*design, knowledge.catalog, knowledge.models);
}

// The same JSON as `orrery catalog TABLE ID --format json`, by way of that verb.
std::optional<std::string> catalog_json(std::string_view path) {
  std::vector<std::string> words = {"catalog"};
  for (const std::string_view part : split(path, '/')) {
    if (part.starts_with('-')) return std::nullopt;
    if (!part.empty()) words.emplace_back(part);
  }
  words.insert(words.end(), {"--format", "json"});
  std::ostringstream out;
  std::ostringstream talk;
  Terminal terminal{.out = out, .err = talk, .read_file = read_text_file};
  if (run_command_line(all_verbs(), words, terminal) != ExitCode::good) return std::nullopt;
  return out.str();
}

// A design that comes over the network may not name files of this machine: it gets no reader.
Services services_for(const ServeOptions& options, const Knowledge& knowledge,
                      const Terminal& terminal) {
  const auto read_file = terminal.read_file;
  return {.review_page = [=, &knowledge, file = options.design]() -> Result<std::string> {
            const Result<std::string> text = read_file(file);
            if (!text) return std::unexpected(text.error());
            const auto read = [read_file](std::string_view path) {
              return read_file(std::string(path));
            };
            const Result<Verdict> verdict = reviewed(*text, knowledge, file, read);
            if (!verdict) return std::unexpected(verdict.error());
            return to_html(document_of(*verdict));
          },
          .plan = [&knowledge](std::string_view text) -> Result<std::string> {
            const Result<Verdict> verdict = reviewed(text, knowledge, "design.yaml", nullptr);
            if (!verdict) return std::unexpected(verdict.error());
            return json_of(*verdict);
          },
          .catalog = catalog_json};
}

ExitCode run_serve(const ServeOptions& options, Terminal& terminal) {
  const auto knowledge = load_knowledge();
  if (!knowledge) return refuse(terminal, knowledge.error());
  const Services services = services_for(options, **knowledge, terminal);
  // A design with errors is served too, as the page that lists them; a missing file is not.
  const Result<std::string> text = terminal.read_file(options.design);
  if (!text) return refuse(terminal, text.error());

  auto rules = std::make_shared<AccessRules>(AccessRules{.port = 0, .token = random_token()});
  auto server =
      HttpServer::listen({.port = options.port}, [rules, &services](const Request& request) {
        const std::optional<Response> refusal = check_access(request, *rules);
        return refusal ? *refusal : handle(request, services);
      });
  if (!server) return refuse(terminal, server.error());
  rules->port = (*server)->port();
  terminal.err << "The review of " << options.design << " is at\n";
  terminal.out << first_url(*rules) << std::endl;
  terminal.err << "Ctrl-C ends it.\n";
  (*server)->run(terminal.interrupted);
  terminal.err << "Served; goodbye.\n";
  return ExitCode::good;
}

}  // namespace

Verb serve_verb() {
  return {.name = "serve",
          .summary = "Show the review of a design as a page at a local address",
          .examples = {"orrery serve my.yaml", "orrery serve my.yaml --port 0"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<ServeOptions>();
            arguments.positional("FILE", options->design, "the design");
            arguments.port(options->port);
            return [options](Terminal& terminal) { return run_serve(*options, terminal); };
          }};
}

}  // namespace orrery
