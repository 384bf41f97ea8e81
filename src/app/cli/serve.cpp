// `orrery serve [DESIGN]`: serves the console and its REST interface on 127.0.0.1.
//
// The design file is read again whenever the page is loaded: save it and reload to see the new
// review. Jobs are kept in a state file, so that a search survives a restart of the server.
#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "app/cli/build_info.h"
#include "app/cli/session.h"
#include "app/cli/store_offline.h"
#include "app/cli/verb.h"
#include "app/server/assets.h"
#include "app/server/console.h"
#include "live/files/replace.h"
#include "live/s3/client.h"
#include "model/design_text/templates.h"

namespace orrery::cli {
namespace {

constexpr int kPortDefault = 8117;
constexpr std::size_t kTokenBytes = 16;
constexpr const char* kSample = "superpod-h100";

struct ServeOptions {
  std::optional<std::string> design;  // none: the sample design
  int port = kPortDefault;
  std::optional<std::string> state;
  std::vector<std::string> calibrations;
  std::string store;  // URL of the object store to show; empty: none
};

std::string random_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string token;
  for (const unsigned char b : bytes) token += fmt::format("{:02x}", b);
  return token;
}

Result<server::ServedDesign> served_design(const std::optional<std::string>& file,
                                           const Terminal& terminal) {
  if (!file) {
    const auto sample = design_text::find_template(kSample);
    return server::ServedDesign{.file = fmt::format("{}.yaml", kSample),
                                .text = std::string(sample ? sample->text : ""),
                                .sample = true};
  }
  if (file->empty()) {
    return fail({.code = "serve.no-name",
                 .what = "the design's name is empty",
                 .why = "a variable in the calling script may be unset",
                 .fix = "name a file; without an argument, a sample design is served"});
  }
  Result<std::string> text = terminal.read_file(*file);
  if (!text) return std::unexpected(text.error());
  return server::ServedDesign{.file = *file, .text = std::move(*text)};
}

// Returns $XDG_STATE_HOME/orrery/jobs.db, by default below ~/.local/state (XDG Base Directory
// Specification); in memory if there is no home directory.
std::string usual_state_file() {
  namespace fs = std::filesystem;
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && fs::path(state).is_absolute()) return fs::path(state) / "orrery/jobs.db";
  if (home != nullptr && *home != '\0') return fs::path(home) / ".local/state/orrery/jobs.db";
  return server::kStoreInMemory;
}

// Opens the store of jobs. A state file named by the user must work. If the default file belongs to
// another server or is not writable, jobs are kept in memory.
Result<std::unique_ptr<server::JobStore>> open_store(const ServeOptions& options,
                                                     Terminal& terminal) {
  if (options.state) return server::JobStore::open(*options.state);
  auto store = server::JobStore::open(usual_state_file());
  if (store) return store;
  terminal.err << to_text(store.error())
               << "Jobs are kept in memory only and are lost when this server stops.\n";
  return server::JobStore::open(server::kStoreInMemory);
}

// Writes the design file; follows a link to the file that it names.
Result<void> save_design(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::string whole = std::filesystem::canonical(path, error).string();
  if (!error && files::replace_file(whole, text)) return {};
  const int reason = error ? error.value() : errno;
  return fail({.code = "file.unwritable",
               .place = {.file = path},
               .what = fmt::format("cannot write: {}", std::strerror(reason))});
}

std::function<Result<void>(const std::string&)> saver_of(const ServeOptions& options) {
  if (!options.design || *options.design == "-") return nullptr;
  return [path = *options.design](const std::string& text) { return save_design(path, text); };
}

// Returns how many large requests may run at once: one per core.
int large_most() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 8U));
}

server::ConsoleSetting setting_for(const ServeOptions& options, const machine::Models& models,
                                   const Terminal& terminal) {
  return {.models = models,
          .version = kVersion,
          .served = [&terminal, file = options.design] { return served_design(file, terminal); },
          .save = saver_of(options),
          .read_file = files_beside(options.design.value_or(""), terminal),
          .store = options.store,
          .store_status = [store = options.store] { return status_at(store); },
          .large_most = large_most()};
}

// Returns the number of handler threads: one per large request that runs or waits, and two for all
// others.
int handler_threads(const server::ConsoleSetting& setting) {
  return setting.large_most + setting.large_waiting_most + 2;
}

void greet(const ServeOptions& options, const server::AccessRules& rules, Terminal& terminal) {
  terminal.err << (server::has_console() ? "The console with " : "The review of ")
               << options.design.value_or("the sample design") << " is at\n";
  terminal.out << first_url(rules) << '\n' << std::flush;
  terminal.err << "Press Ctrl-C to stop.\n";
}

ExitCode run_serve(const ServeOptions& options, Terminal& terminal) {
  const auto models = calibrated_models(options.calibrations, terminal);
  if (!models) return refuse(terminal, models.error());
  // A design with errors is served too: the page lists them. A missing file is an error.
  if (const auto design = served_design(options.design, terminal); !design) {
    return refuse(terminal, design.error());
  }
  if (!options.store.empty()) {
    const auto endpoint = s3::checked_endpoint(options.store);
    if (!endpoint) return refuse(terminal, endpoint.error());
  }
  auto store = open_store(options, terminal);
  if (!store) return refuse(terminal, store.error());
  auto console = server::Console::open(setting_for(options, *models, terminal), std::move(*store));
  if (!console) return refuse(terminal, console.error());

  auto rules = std::make_shared<server::AccessRules>(
      server::AccessRules{.port = 0, .token = random_token()});
  net::ServerOptions listening = server::browser_options();
  listening.port = options.port;
  listening.handler_threads = handler_threads((*console)->setting());
  listening.answers_in_place = true;
  listening.load = (*console)->setting().load;
  auto server = net::Server::listen(listening, [rules, &console](const net::Request& request) {
    return (*console)->answer_in_place(request, rules);
  });
  if (!server) return refuse(terminal, server.error());
  rules->port = (*server)->port();
  greet(options, *rules, terminal);
  (*server)->run(terminal.interrupted);
  terminal.err << "The server has stopped.\n";
  return ExitCode::good;
}

}  // namespace

Verb serve_verb() {
  return {.name = "serve",
          .summary = "Serve the console for a design at a local address",
          .examples = {"orrery serve", "orrery serve my.yaml",
                       "orrery serve my.yaml --port 0 --state :memory:",
                       "orrery serve --store http://127.0.0.1:8118"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<ServeOptions>();
            arguments.optional_positional("DESIGN", options->design,
                                          "design file; without it, a sample design");
            arguments.port(options->port);
            arguments.option("--state", options->state,
                             "file that keeps the jobs; default: below $XDG_STATE_HOME", "FILE");
            arguments.option("--calibration", options->calibrations,
                             "file from `orrery calibrate` with parameters of your own machine or "
                             "storage; repeatable",
                             "FILE");
            arguments.option("--store", options->store,
                             "URL of a running `orrery store` to show on the page Store", "URL");
            return [options](Terminal& terminal) { return run_serve(*options, terminal); };
          }};
}

}  // namespace orrery::cli
