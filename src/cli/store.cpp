// `orrery store FOLDER|DESIGN`: a live object store with one namespace over four tiers, on
// 127.0.0.1.
#include <fmt/core.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>

#include "base/units.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "net/server.h"
#include "store/runtime.h"
#include "store/sweep.h"

namespace orrery::cli {
namespace {

constexpr int kStorePort = 8118;
// A sink that waits for a disk holds its thread: so many may wait for one sync together.
constexpr int kHandlerThreads = 32;
constexpr std::uint64_t kDocumentBytesMax = std::uint64_t{4} << 20;  // 1,000 keys to be removed

struct StoreOptions {
  std::vector<std::string> words;  // FOLDER, or what is to be done and FOLDER
  std::string folder;
  bool quick = false;
  int port = kStorePort;
  std::vector<std::string> tiers;
  std::string lifecycle_day = "24h";
  std::string domain = "localhost";
  std::string region = "us-east-1";
  std::string listen = "127.0.0.1";
  std::string certificate;
  std::string key;
};

volatile std::sig_atomic_t terminated = 0;

// The folder itself, or for a design the one beside it that has its name.
Result<std::string> store_folder_of(const StoreOptions& options, Terminal& terminal) {
  if (!std::filesystem::is_regular_file(options.folder)) return options.folder;
  const auto models = shipped_models();
  if (!models) return std::unexpected(models.error());
  const auto design = load_design(options.folder, models->catalog(), terminal);
  if (!design) return std::unexpected(design.error());
  return design->name + ".store";
}

Result<store::RuntimeOptions> runtime_options(const StoreOptions& options, Terminal& terminal,
                                              std::shared_ptr<std::mutex> talk) {
  store::RuntimeOptions to;
  const auto folder = store_folder_of(options, terminal);
  if (!folder) return std::unexpected(folder.error());
  to.folder = *folder;
  const auto day = parse_quantity<Seconds>(options.lifecycle_day);
  if (!day || day->base() < 0.1) {
    return fail({.code = "store.day",
                 .place = {},
                 .what = "'" + options.lifecycle_day + "' is not the length of a day",
                 .why = {},
                 .fix = "write --lifecycle-day 10s"});
  }
  to.gateway = {.region = options.region,
                .domain = options.domain,
                .day_ms = static_cast<store::TimeMs>(day->base() * 1000)};
  for (const std::string& text : options.tiers) {
    auto tier = store::tier_plan_of(text);
    if (!tier) return std::unexpected(tier.error());
    for (store::TierPlan& usual : to.tiers) {
      if (usual.name == tier->name) usual = *tier;
    }
  }
  to.log = [&terminal, talk](const std::string& line) {
    const std::scoped_lock lock(*talk);
    terminal.err << line << '\n' << std::flush;
  };
  return to;
}

Result<net::ServerOptions> listening(const StoreOptions& options, const Terminal& terminal) {
  net::ServerOptions to;
  to.address = options.listen;
  to.port = options.port;
  if (options.certificate.empty() != options.key.empty()) {
    return fail({.code = "store.tls",
                 .place = {},
                 .what = "--tls-certificate and --tls-key go together",
                 .why = {},
                 .fix = {}});
  }
  if (!options.certificate.empty()) {
    auto certificate = terminal.read_file(options.certificate);
    if (!certificate) return std::unexpected(certificate.error());
    auto key = terminal.read_file(options.key);
    if (!key) return std::unexpected(key.error());
    to.tls = net::TlsIdentity{std::move(*certificate), std::move(*key)};
  }
  to.handler_threads = kHandlerThreads;
  to.body_bytes_max = kDocumentBytesMax;
  to.request_time_max = std::chrono::seconds(20);
  to.response_time_max = std::chrono::seconds(30);
  to.drain_time_max = std::chrono::seconds(30);
  to.refusal = store::Gateway::refusal;
  return to;
}

std::string of_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

ExitCode run_store(const StoreOptions& options, Terminal& terminal) {
  const auto talk = std::make_shared<std::mutex>();
  const auto wanted = runtime_options(options, terminal, talk);
  if (!wanted) return refuse(terminal, wanted.error());
  auto runtime = store::Runtime::open(*wanted);
  if (!runtime) return refuse(terminal, runtime.error());
  terminal.err << to_text((*runtime)->folder().notes);
  const auto keys = (*runtime)->first_tenant(of_environment("ORRERY_ACCESS_KEY"),
                                             of_environment("ORRERY_SECRET_KEY"));
  if (!keys) return refuse(terminal, keys.error());
  const auto listens = listening(options, terminal);
  if (!listens) return refuse(terminal, listens.error());
  auto server = net::Server::listen(*listens, (*runtime)->gateway().service());
  if (!server) return refuse(terminal, server.error());
  if (keys->made) {
    terminal.err << fmt::format(
        "The keys of the first tenant, shown this once:\n  access key {}\n"
        "  secret key {}\n",
        keys->access_key, keys->secret_key);
  }
  terminal.out << fmt::format("{}://{}:{}\n", listens->tls ? "https" : "http", options.listen,
                              (*server)->port())
               << std::flush;
  terminal.err << fmt::format("The store in {} answers there. Ctrl-C ends it.\n", wanted->folder);
  terminated = 0;
  std::signal(SIGTERM, [](int) { terminated = 1; });
  (*server)->run([&] { return terminated != 0 || terminal.interrupted(); });
  terminal.err << "All that was acknowledged is kept; goodbye.\n";
  return ExitCode::good;
}

}  // namespace

namespace {

// Writes anew what is damaged, removes what nothing names.
Result<void> repair(store::Runtime& runtime, Terminal& terminal) {
  const auto failed = [](const store::Refused& why) {
    return fail({.code = "store.repair",
                 .place = {},
                 .what = why.code + ' ' + why.message,
                 .why = {},
                 .fix = {}});
  };
  store::Scrubber scrubber(runtime.store());
  for (bool more = true; more;) {
    const auto step = scrubber.step(std::uint64_t{64} << 20);
    if (!step) return failed(step.error());
    more = *step;
  }
  const auto swept = store::sweep_orphans(runtime.store());
  if (!swept) return failed(swept.error());
  for (bool more = true; more;) {
    const auto gone = runtime.store().collect();
    if (!gone) return failed(gone.error());
    more = *gone > 0;
  }
  terminal.err << fmt::format("{} shards written anew, {} files removed that nothing named\n",
                              scrubber.counts().mended, swept->removed);
  return {};
}

ExitCode run_check(const StoreOptions& options, bool mends, Terminal& terminal) {
  if (!std::filesystem::exists(options.folder + "/store")) {
    return refuse(terminal, {{.code = "store.format",
                              .place = {options.folder},
                              .what = "there is no store here",
                              .why = {},
                              .fix = {}}});
  }
  auto runtime =
      store::Runtime::open({.folder = options.folder,
                            .keeps_house = false,
                            .replace_drives = mends,
                            .log = [&](const std::string& line) { terminal.err << line << '\n'; }});
  if (!runtime) return refuse(terminal, runtime.error());
  terminal.err << to_text((*runtime)->folder().notes);
  if (mends) {
    if (const auto done = repair(**runtime, terminal); !done) return refuse(terminal, done.error());
  }
  const auto check = store::check_store((*runtime)->store(), !options.quick);
  if (!check) {
    terminal.err << check.error().code << ' ' << check.error().message << '\n';
    return ExitCode::internal;
  }
  for (const std::string& fault : check->faults) terminal.out << fault << '\n';
  terminal.out << fmt::format(
      "{} buckets, {} versions, {} bytes in {} blobs\n"
      "{} damaged shards, {} blobs lost, {} blobs that nothing names, {} files that no row "
      "names\n{}\n",
      check->buckets, check->versions, check->bytes, check->blobs, check->damaged_shards,
      check->lost_blobs, check->unreferenced, check->orphans,
      check->clean() ? "The store is sound." : "The store is not sound.");
  return check->clean() ? ExitCode::good : ExitCode::fails_rule;
}

ExitCode run_words(StoreOptions options, Terminal& terminal) {
  const std::vector<std::string>& words = options.words;
  const bool one = words.size() == 1;
  if (!one && !(words.size() == 2 && (words[0] == "fsck" || words[0] == "repair"))) {
    return refuse(
        terminal,
        {{.code = "store.usage",
          .place = {},
          .what = "a folder is missing, or there is a word too many",
          .why = {},
          .fix = "orrery store FOLDER, orrery store fsck FOLDER, or orrery store repair FOLDER"}});
  }
  options.folder = words.back();
  if (one) return run_store(options, terminal);
  return run_check(options, words[0] == "repair", terminal);
}

}  // namespace

Verb store_verb() {
  return {
      .name = "store",
      .summary = "Run an S3 object store over four tiers of folders or drives",
      .examples = {"orrery store my-store --port 8118",
                   "orrery store my-store --tier hot=4+2:/mnt/a,/mnt/b,/mnt/c,/mnt/d,/mnt/e,/mnt/f",
                   "orrery store fsck my-store"},
      .prepare = [](Arguments& arguments) -> Run {
        auto options = std::make_shared<StoreOptions>();
        arguments.positionals("FOLDER", options->words,
                              "where the store is or will be; or a design, for one beside it; "
                              "before it fsck or repair, for a store that does not run");
        arguments.port(options->port);
        arguments.option("--tier", options->tiers,
                         "of a new store: NAME=K+M:FOLDER,... (data and parity) or NAME=Nx:... "
                         "(copies); may be given again",
                         "TIER");
        arguments.option("--lifecycle-day", options->lifecycle_day,
                         "how long a day of lifecycle rules lasts", "TIME");
        arguments.flag("--quick", options->quick, "fsck: look for files, read no blocks");
        arguments.option("--domain", options->domain, "of virtual-hosted buckets: BUCKET.DOMAIN",
                         "NAME");
        arguments.option("--listen", options->listen, "the address of this machine to listen on",
                         "ADDRESS");
        arguments.option("--tls-certificate", options->certificate,
                         "speak TLS: the certificate with its chain, as PEM", "FILE");
        arguments.option("--tls-key", options->key, "... and its private key", "FILE");
        arguments.option("--region", options->region, "the region's name", "NAME");
        return [options](Terminal& terminal) { return run_words(*options, terminal); };
      }};
}

}  // namespace orrery::cli
