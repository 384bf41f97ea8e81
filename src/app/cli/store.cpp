// `orrery store FOLDER|DESIGN`: runs an object store with one namespace over four tiers, on
// 127.0.0.1.
#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>

#include "app/cli/keep_words.h"
#include "app/cli/session.h"
#include "app/cli/store_design.h"
#include "app/cli/store_guards.h"
#include "app/cli/store_offline.h"
#include "app/cli/verb.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "live/net/server.h"
#include "live/s3server/runtime.h"
#include "live/s3server/secrets.h"
#include "live/store/storage_class.h"

namespace orrery::cli {
namespace {

constexpr int kStorePort = 8118;
// Handler threads. A handler that waits for a disk keeps its thread; this many may wait for one
// sync together.
constexpr int kHandlerThreads = 32;
// enough for the names of 1,000 keys to delete
constexpr std::uint64_t kDocumentBytesMax = std::uint64_t{4} << 20;
constexpr std::size_t kInflowBytes = std::size_t{1} << 20;  // bytes written per call
// Bytes of all uploads in memory together; keeps the store below 300 MB for any number of uploads.
constexpr std::uint64_t kBodiesBytesMax = std::uint64_t{128} << 20;

struct StoreOptions {
  std::vector<std::string> words;  // FOLDER, or a subcommand and FOLDER
  std::string folder;
  bool quick = false;
  bool apply = false;
  bool dry_run = false;
  std::string grace = "7d";
  std::vector<std::string> keeps;
  std::string promote;
  std::string at;
  std::string tenants;
  std::string key_file;
  std::string s3_keys;
  std::string key_command;
  std::string audit;
  bool open_metrics = false;
  bool md5 = false;
  double client_requests = 0;
  std::int64_t client_at_once = kHandlerThreads * 3 / 4;
  int port = kStorePort;
  std::vector<std::string> tiers;
  std::string metadata;
  std::string lifecycle_day = "24h";
  std::string domain = "localhost";
  std::string region = "us-east-1";
  std::string listen = "127.0.0.1";
  std::string certificate;
  std::string key;
};

volatile std::sig_atomic_t terminated = 0;

// Reads the folder of the store. The store of a design is in a folder beside it, named after it,
// with the design's tiers and rules.
Result<void> read_place(const StoreOptions& options, Terminal& terminal,
                        s3server::RuntimeOptions& to) {
  to.folder = options.folder;
  if (!std::filesystem::is_regular_file(options.folder)) return {};
  const auto models = shipped_models();
  if (!models) return std::unexpected(models.error());
  const auto design = load_design(options.folder, models->catalog(), terminal);
  if (!design) return std::unexpected(design.error());
  to.folder = design->name + ".store";
  auto designed = store_of_design(*design);
  if (!designed) return std::unexpected(designed.error());
  to.tiers = std::move(designed->tiers);
  to.moves.places = std::move(designed->keeps);
  if (!designed->enciphered || !options.key_file.empty() || !options.key_command.empty()) return {};
  return fail({.code = "store.key",
               .place = {options.folder},
               .what = "the design asks for encrypted storage, but the store has no key",
               .why = {},
               .fix = "name one with --key-file or --key-command"});
}

// Reads --keep and --promote. "hot,newest=3,hours=22-6" says what a tier keeps of tagged
// checkpoints, and when and how fast it moves data.
Result<void> read_moves(const StoreOptions& options, s3server::MoverOptions& to) {
  const auto bad = [](const std::string& text) {
    return fail({.code = "store.keep",
                 .place = {},
                 .what = "--keep " + text + " is not understood",
                 .why = "write a tier and its rules, separated by commas",
                 .fix = "--keep hot,newest=3,pace=200MB/s --keep cold,milestones,hours=22-6"});
  };
  for (const std::string& text : options.keeps) {
    const auto words = split(text, ',');
    storage::KeepPlace place{.name = std::string(words.front())};
    if (store::tier_rank(place.name) >= static_cast<int>(std::size(store::kTierOrder))) {
      return bad(text);
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!read_keep_word(words[i], place) || place.written || !place.durable) return bad(text);
    }
    std::erase_if(to.places, [&](const auto& before) { return before.name == place.name; });
    to.places.push_back(std::move(place));
  }
  if (options.promote.empty()) return {};
  const auto span = parse_quantity<Seconds>(options.promote);
  if (!span || span->base() <= 0) {
    return fail({.code = "store.promote",
                 .place = {},
                 .what = "'" + options.promote + "' is not a length of time",
                 .why = {},
                 .fix = "write --promote 6h"});
  }
  to.promote_ms = static_cast<rows::TimeMs>(span->base() * 1000);
  return {};
}

// Returns the output of a command, such as the client of a key server.
Result<std::string> output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  char piece[4096];
  while (pipe != nullptr) {
    const std::size_t got = std::fread(piece, 1, sizeof piece, pipe);
    if (got == 0) break;
    text.append(piece, got);
  }
  if (pipe != nullptr && ::pclose(pipe) == 0) return text;
  return fail({.code = "store.secrets",
               .place = {},
               .what = "--key-command failed",
               .why = "the store does not start without its key",
               .fix = "run the command by hand: it prints ID and 64 hexadecimal digits"});
}

// Reads tenants, encryption keys, limits and the audit log.
Result<void> read_guards(const StoreOptions& options, const Terminal& terminal,
                         s3server::RuntimeOptions& to) {
  for (const std::string& file : {options.tenants, options.key_file}) {
    if (auto good = check_private_file(file); !good) return std::unexpected(good.error());
  }
  if (!options.tenants.empty()) {
    const auto text = terminal.read_file(options.tenants);
    if (!text) return std::unexpected(text.error());
    auto tenants = s3server::tenants_of(*text, options.tenants);
    if (!tenants) return std::unexpected(tenants.error());
    to.tenants = std::move(*tenants);
  }
  if (!options.key_file.empty() || !options.key_command.empty()) {
    const bool by_file = !options.key_file.empty();
    const auto text =
        by_file ? terminal.read_file(options.key_file) : output_of(options.key_command);
    if (!text) return std::unexpected(text.error());
    auto keys = s3server::keys_of(*text, by_file ? options.key_file : "--key-command");
    if (!keys) return std::unexpected(keys.error());
    to.keys = std::move(*keys);
  }
  if (!options.audit.empty()) {
    auto audit = s3server::AuditLog::open(options.audit);
    if (!audit) return std::unexpected(audit.error());
    to.gateway.audit = std::move(*audit);
  }
  auto access = s3_access(options.s3_keys, terminal);
  if (!access) return std::unexpected(access.error());
  to.s3 = std::move(*access);
  to.metrics_for_all = options.open_metrics;
  to.gateway.puts_off = true;
  to.gateway.limit = {.requests_per_s = options.client_requests,
                      .at_once = static_cast<int>(options.client_at_once)};
  return {};
}

Result<s3server::RuntimeOptions> runtime_options(const StoreOptions& options, Terminal& terminal,
                                                 const std::shared_ptr<std::mutex>& log_lock) {
  s3server::RuntimeOptions to;
  if (const auto place = read_place(options, terminal, to); !place)
    return std::unexpected(place.error());
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
                .day_ms = static_cast<rows::TimeMs>(day->base() * 1000)};
  const auto grace = parse_quantity<Seconds>(options.grace);
  if (!grace || grace->base() < 0) {
    return fail({.code = "store.grace",
                 .place = {},
                 .what = "'" + options.grace + "' is not a length of time",
                 .why = {},
                 .fix = "write --grace 7d"});
  }
  to.aside_ms = static_cast<rows::TimeMs>(grace->base() * 1000);
  to.database = options.metadata;
  if (options.md5) to.gateway.quick_etag_bytes = s3server::kNeverQuick;
  for (const std::string& text : options.tiers) {
    auto tier = upkeep::tier_plan_of(text);
    if (!tier) return std::unexpected(tier.error());
    for (upkeep::TierPlan& usual : to.tiers) {
      if (usual.name == tier->name) usual = *tier;
    }
  }
  if (const auto moves = read_moves(options, to.moves); !moves)
    return std::unexpected(moves.error());
  if (const auto guards = read_guards(options, terminal, to); !guards)
    return std::unexpected(guards.error());
  to.log = [&terminal, log_lock](const std::string& line) {
    const std::scoped_lock lock(*log_lock);
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
                 .what = "--tls-certificate and --tls-key must be given together",
                 .why = {},
                 .fix = {}});
  }
  if (!options.certificate.empty()) {
    auto certificate = terminal.read_file(options.certificate);
    if (!certificate) return std::unexpected(certificate.error());
    if (auto good = check_private_file(options.key); !good) return std::unexpected(good.error());
    auto key = terminal.read_file(options.key);
    if (!key) return std::unexpected(key.error());
    to.tls = net::TlsIdentity{std::move(*certificate), std::move(*key)};
  }
  to.handler_threads = kHandlerThreads;
  to.body_bytes_max = kDocumentBytesMax;
  to.inflow_bytes = kInflowBytes;
  to.bodies_bytes_max = kBodiesBytesMax;
  to.request_time_max = std::chrono::seconds(20);
  to.response_time_max = std::chrono::seconds(30);
  to.drain_time_max = std::chrono::seconds(30);
  to.refusal = s3server::Gateway::refusal;
  return to;
}

std::string of_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Lowers the number of connections if the process may open few files: a shard that cannot be opened
// fails a request.
void fit_connections(const s3server::Runtime& runtime, Terminal& terminal, net::ServerOptions& to) {
  int shards = 1;
  for (const store::Tier& tier : runtime.folder().tiers) {
    shards = std::max(shards, tier.plan.total());
  }
  const std::uint64_t files = raise_open_files();
  const int most = connections_for(files, shards, kHandlerThreads, to.connections_max);
  if (most < to.connections_max) {
    terminal.err << fmt::format(
        "This process may open {} files, so the store takes {} connections at once; "
        "raise the limit with `ulimit -n` or LimitNOFILE=\n",
        files, most);
  }
  to.connections_max = most;
}

ExitCode run_store(const StoreOptions& options, Terminal& terminal) {
  if (terminal.interrupted()) return ExitCode::interrupted;
  const auto log_lock = std::make_shared<std::mutex>();
  auto wanted = runtime_options(options, terminal, log_lock);
  if (!wanted) return refuse(terminal, wanted.error());
  auto listens = listening(options, terminal);
  if (!listens) return refuse(terminal, listens.error());
  wanted->load = listens->load;
  auto runtime = s3server::Runtime::open(*wanted);
  if (!runtime) return refuse(terminal, runtime.error());
  terminal.err << to_text((*runtime)->folder().notes);
  // Requests wait for rows if the metadata are in a database, so none of them is answered in place.
  listens->answers_in_place = !(*runtime)->store().metadata().is_shared();
  fit_connections(**runtime, terminal, *listens);
  const auto keys = (*runtime)->first_tenant(of_environment("ORRERY_ACCESS_KEY"),
                                             of_environment("ORRERY_SECRET_KEY"));
  if (!keys) return refuse(terminal, keys.error());
  auto server = net::Server::listen(*listens, (*runtime)->service());
  if (!server) return refuse(terminal, server.error());
  // Ignores SIGPIPE: the reader of stdout may exit.
  std::signal(SIGPIPE, SIG_IGN);
  // Log lines are printed already, and each line on stderr flushes stdout.
  std::unique_lock quiet(*log_lock);
  if (keys->made) {
    terminal.err << fmt::format(
        "The keys of the first tenant (shown only now):\n"
        "  access key {}\n"
        "  secret key {}\n",
        keys->access_key, keys->secret_key);
  }
  terminal.out << fmt::format("{}://{}:{}\n", listens->tls ? "https" : "http", options.listen,
                              (*server)->port())
               << std::flush;
  terminal.err << fmt::format("The store in {} is running. Press Ctrl-C to stop.\n",
                              wanted->folder);
  quiet.unlock();
  terminated = 0;
  std::signal(SIGTERM, [](int) { terminated = 1; });
  (*server)->run([&] { return terminated != 0 || terminal.interrupted(); });
  terminal.err << "The store has stopped; all acknowledged data is on its drives.\n";
  return ExitCode::good;
}

ExitCode run_words(StoreOptions options, Terminal& terminal) {
  const PrivateFiles all_that_is_made;
  const std::vector<std::string>& words = options.words;
  const std::string verb = words.empty() ? "" : words.front();
  const bool checks = verb == "fsck" || verb == "repair";
  // A folder of this name must be written as ./status.
  if (words.size() == 1 && !checks && verb != "status" && verb != "lineage") {
    options.folder = verb;
    return run_store(options, terminal);
  }
  if (checks && words.size() == 2) {
    const FolderCheck what{words[1], options.quick, options.s3_keys};
    if (verb == "fsck") return check_store_folder(what, terminal);
    return options.apply && !options.dry_run ? apply_repair(what, terminal)
                                             : plan_repair(what, terminal);
  }
  const std::string at =
      options.at.empty() ? fmt::format("http://127.0.0.1:{}", options.port) : options.at;
  if (verb == "status" && words.size() <= 2) {
    return show_status(words.size() == 2 ? words[1] : at, terminal);
  }
  if (verb == "lineage" && words.size() == 2) {
    return show_lineage(words[1], at, options.region, terminal);
  }
  if (verb == "lineage" && words.size() == 3) return show_lineage_in(words[2], words[1], terminal);
  return refuse(terminal, {{.code = "store.usage",
                            .place = {},
                            .what = "a folder is missing, or there are too many arguments",
                            .why = {},
                            .fix = "orrery store FOLDER, orrery store fsck FOLDER, orrery store "
                                   "repair FOLDER, orrery store status, or orrery store lineage "
                                   "BUCKET/KEY"}});
}

// Adds the options of fsck, repair, and the removal of files that no object uses.
void care_options(Arguments& arguments, StoreOptions& options) {
  arguments.flag("--dry-run", options.dry_run,
                 "repair: list what would be done and write nothing (the default)");
  arguments.flag("--apply", options.apply, "repair: carry out what it lists");
  arguments.option("--grace", options.grace,
                   "how long files that no object uses are kept aside, counted in time that the "
                   "store ran without errors",
                   "TIME");
}

// Adds the options of tenants and of the keys that the store uses.
void key_options(Arguments& arguments, StoreOptions& options) {
  arguments.option("--tenants", options.tenants,
                   "tenants besides the first, one per line: NAME ACCESS-KEY SECRET-KEY "
                   "[quota=10TB]; without it, the same tenants as before",
                   "FILE");
  arguments.option("--key-file", options.key_file,
                   "encrypt stored data and tenants' secrets with the keys in FILE: lines of "
                   "ID and 64 hexadecimal digits; the first key encrypts new data",
                   "FILE");
  arguments.option("--key-command", options.key_command,
                   "command that prints the keys, instead of --key-file", "TEXT");
  arguments.option("--s3-keys", options.s3_keys,
                   "keys of tiers in other object stores: lines of BUCKET ACCESS-KEY "
                   "SECRET-KEY; default: the environment (AWS_ACCESS_KEY_ID, ...)",
                   "FILE");
}

// Adds the options of the names and addresses by which clients reach the store.
void address_options(Arguments& arguments, StoreOptions& options) {
  arguments.option("--domain", options.domain, "domain of virtual-hosted buckets (BUCKET.DOMAIN)",
                   "NAME");
  arguments.option("--listen", options.listen, "address of this machine to listen on", "ADDRESS");
  arguments.option("--tls-certificate", options.certificate,
                   "serve TLS with this certificate and its chain (PEM)", "FILE");
  arguments.option("--tls-key", options.key, "private key of the certificate (PEM)", "FILE");
  arguments.option("--region", options.region, "name of the region", "NAME");
}

}  // namespace

Verb store_verb() {
  return {
      .name = "store",
      .summary = "Run an S3 object store over four tiers of folders or drives",
      .examples = {"orrery store my-store --port 8118",
                   "orrery store my-store --tier hot=4+2:/mnt/a,/mnt/b,/mnt/c,/mnt/d,/mnt/e,/mnt/f",
                   "orrery store fsck my-store",
                   "orrery store lineage models/llama/final.safetensors"},
      .prepare = [](Arguments& arguments) -> Run {
        auto options = std::make_shared<StoreOptions>();
        arguments.positionals("FOLDER", options->words,
                              "folder or design file. Subcommands: fsck, repair (store stopped); "
                              "status, lineage BUCKET/KEY (store running)");
        arguments.port(options->port);
        arguments.option(
            "--tier", options->tiers,
            "new store: NAME=K+M:FOLDER,... (data and parity shards) or NAME=Nx:FOLDER,... "
            "(copies); a FOLDER of warm or cold may be s3+https://HOST/BUCKET/PREFIX, a FOLDER of "
            "any tier except gpu-direct rados:POOL/NAMESPACE; repeatable",
            "TIER");
        arguments.option("--metadata", options->metadata,
                         "new store with several gateways: PostgreSQL database for its metadata, "
                         "postgresql://USER@HOST/NAME, without a password",
                         "URL");
        arguments.option("--lifecycle-day", options->lifecycle_day,
                         "how long one day of the lifecycle rules lasts", "TIME");
        arguments.option("--keep", options->keeps,
                         "which tagged checkpoints a tier keeps, and when and how fast they move: "
                         "TIER,newest=3,milestones,every=1000,window=7d,pace=200MB/s,hours=22-6",
                         "TIER,WORDS");
        arguments.option(
            "--promote", options->promote,
            "copy objects read from warm or cold tiers to hot, and keep them there for TIME",
            "TIME");
        key_options(arguments, *options);
        arguments.option("--audit", options->audit, "append one JSON line per request to FILE",
                         "FILE");
        arguments.flag("--md5", options->md5,
                       "make the ETag of a large object its MD5, even if the client sent no MD5");
        arguments.flag("--open-metrics", options->open_metrics,
                       "answer /-/metrics and /-/status to other machines too");
        arguments.option("--client-requests", options->client_requests,
                         "requests per second allowed per tenant; 0: no limit", "N");
        arguments.option("--client-at-once", options->client_at_once,
                         "concurrent requests allowed per tenant; 0: no limit", "N");
        arguments.option("--at", options->at, "status, lineage: address of the running store",
                         "URL");
        arguments.flag("--quick", options->quick,
                       "fsck: check that files exist without reading their blocks");
        care_options(arguments, *options);
        address_options(arguments, *options);
        return [options](Terminal& terminal) { return run_words(*options, terminal); };
      }};
}

}  // namespace orrery::cli
