#include "app/cli/store_offline.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "app/cli/store_guards.h"
#include "app/cli/verb.h"
#include "live/net/client.h"
#include "live/s3/client.h"
#include "live/s3server/lineage.h"
#include "live/s3server/runtime.h"
#include "live/s3server/secrets.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"

namespace orrery::cli {
namespace {

std::unexpected<Diagnostics> store_said(const char* code, const std::string& what) {
  return fail({.code = code, .place = {}, .what = what, .why = {}, .fix = {}});
}

Result<void> check_is_store(const std::string& folder) {
  if (std::filesystem::exists(folder + "/store")) return {};
  return fail({.code = "store.format",
               .place = {folder},
               .what = "there is no store here",
               .why = {},
               .fix = {}});
}

// A store opened for reading: nothing in its folder or on its drives changes.
struct Looked {
  upkeep::OpenedFolder folder;
  std::unique_ptr<store::Store> store;
};
Result<Looked> looked_into(const std::string& folder, const std::string& s3_keys,
                           const Terminal& terminal) {
  if (auto good = check_is_store(folder); !good) return std::unexpected(good.error());
  auto access = s3_access(s3_keys, terminal);
  if (!access) return std::unexpected(access.error());
  auto opened = upkeep::open_store_folder(folder, {}, {}, false, *access,
                                          {.alone = true, .looks = true, .accepts_loss = true});
  if (!opened) return std::unexpected(opened.error());
  Looked looked{.folder = std::move(*opened), .store = nullptr};
  looked.store =
      std::make_unique<store::Store>(store::StoreSetting{.metadata = *looked.folder.metadata,
                                                         .drives = looked.folder.drive_set(),
                                                         .tiers = looked.folder.tiers,
                                                         .now_ms = s3server::wall_clock_ms,
                                                         .random_bytes = s3server::random_bytes});
  return looked;
}

Result<std::unique_ptr<s3server::Runtime>> opened_to_repair(const FolderCheck& options,
                                                            Terminal& terminal) {
  if (auto good = check_is_store(options.folder); !good) return std::unexpected(good.error());
  auto access = s3_access(options.s3_keys, terminal);
  if (!access) return std::unexpected(access.error());
  return s3server::Runtime::open(
      {.folder = options.folder,
       .s3 = std::move(*access),
       .keeps_house = false,
       .replace_drives = true,
       .accepts_loss = true,
       .log = [&](const std::string& line) { terminal.err << line << '\n'; }});
}

struct ObjectName {
  std::string bucket;
  std::string key;
};
Result<ObjectName> object_name(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == text.npos || slash == 0 || slash + 1 == text.size()) {
    return fail({.code = "store.usage",
                 .place = {},
                 .what = "'" + text + "' is not an object",
                 .why = {},
                 .fix = "write BUCKET/KEY"});
  }
  return ObjectName{text.substr(0, slash), text.substr(slash + 1)};
}

// Rewrites damaged shards, sets aside files that no object uses, and brings back files that an
// object uses. Ends early if interrupted; what was done until then stays done.
Result<void> repair(s3server::Runtime& runtime, Terminal& terminal) {
  const auto failed = [](const store::Refused& why) {
    return fail({.code = "store.repair",
                 .place = {},
                 .what = why.code + ' ' + why.message,
                 .why = {},
                 .fix = {}});
  };
  store::Store& store = runtime.store();
  const auto& stop = terminal.interrupted;
  const auto aside = upkeep::tend_aside(store, stop);
  if (stop()) return {};
  if (!aside) return failed(aside.error());
  upkeep::Scrubber scrubber(store);
  for (bool more = true; more && !stop();) {
    const auto step = scrubber.step(std::uint64_t{64} << 20);
    if (!step) return failed(step.error());
    more = *step;
  }
  const auto swept = upkeep::sweep_orphans(store, stop);
  if (stop()) return {};
  if (!swept) return failed(swept.error());
  for (bool more = true; more && !stop();) {
    const auto gone = store.collect();
    if (!gone) return failed(gone.error());
    more = *gone > 0;
  }
  for (const std::string& what : swept->says) terminal.err << what << '\n';
  terminal.err << fmt::format(
      "{} shards rewritten, {} files without a metadata row set aside, {} brought back\n",
      scrubber.counts().mended, swept->set_aside, aside->brought_back);
  return {};
}

ExitCode stopped_early(Terminal& terminal) {
  terminal.err << "Stopped before the end; the rest was not checked.\n";
  return ExitCode::interrupted;
}

// Prints what a check found. Returns the exit code: 1 if something is wrong.
ExitCode tell(const upkeep::StoreCheck& check, bool is_behind, Terminal& terminal) {
  for (const std::string& object : check.objects) terminal.out << object << '\n';
  for (const std::string& fault : check.faults) terminal.out << fault << '\n';
  if (check.stopped) return stopped_early(terminal);
  const bool is_sound = check.clean() && !is_behind;
  terminal.out << fmt::format(
      "{} buckets, {} versions, {} bytes in {} blobs\n"
      "{} damaged shards, {} blobs lost, {} blobs that no object uses, {} files without a metadata "
      "row\n",
      check.buckets, check.versions, check.bytes, check.blobs, check.damaged_shards,
      check.lost_blobs, check.unreferenced, check.orphans);
  if (check.aside > 0) terminal.out << fmt::format("{} files are set aside\n", check.aside);
  terminal.out << (is_sound ? "The store is sound.\n" : "The store is not sound.\n");
  return is_sound ? ExitCode::good : ExitCode::fails_rule;
}

// Reports a store that could not be read. Lost or damaged metadata are a finding of the check; any
// other fault is an input error.
ExitCode not_looked(const Diagnostics& why, Terminal& terminal) {
  if (why.front().code != "store.metadata") return refuse(terminal, why);
  terminal.out << to_text(why) << "The store is not sound.\n";
  return ExitCode::fails_rule;
}

ExitCode not_checked(const store::Refused& why, Terminal& terminal) {
  terminal.out << "the check could not be finished: " << why.code << ' ' << why.message
               << "\nThe store is not sound.\n";
  return ExitCode::fails_rule;
}

// Returns the actions with which a repair opens a store: folders to create, and the metadata to
// continue with.
std::vector<std::string> opening_actions(const upkeep::OpenedFolder& folder) {
  std::vector<std::string> actions;
  if (folder.behind) {
    actions.emplace_back(
        "accept metadata that are older than the data: newer objects are given up, and their files "
        "are set aside");
  }
  for (const auto& [id, drive] : folder.drives) {
    if (drive) continue;
    actions.push_back("recreate drive " + id + ", or rewrite its mark, in " +
                      folder.folders.at(id));
  }
  return actions;
}

}  // namespace

Result<drives::S3Access> s3_access(const std::string& file, const Terminal& terminal) {
  drives::S3Access access;
  if (!file.empty()) {
    if (auto good = check_private_file(file); !good) return std::unexpected(good.error());
    const auto text = terminal.read_file(file);
    if (!text) return std::unexpected(text.error());
    auto keys = s3server::s3_keys_of(*text, file);
    if (!keys) return std::unexpected(keys.error());
    access.keys = std::move(*keys);
  }
  if (std::getenv("AWS_ACCESS_KEY_ID") == nullptr) return access;
  const auto own = s3::credentials_of([](const char* name) { return std::getenv(name); });
  if (!own) return std::unexpected(own.error());
  access.keys[""] = *own;
  return access;
}

ExitCode check_store_folder(const FolderCheck& options, Terminal& terminal) {
  const auto looked = looked_into(options.folder, options.s3_keys, terminal);
  if (!looked) return not_looked(looked.error(), terminal);
  terminal.err << to_text(looked->folder.notes);
  const auto check = upkeep::check_store(*looked->store, !options.quick, terminal.interrupted);
  if (!check) return not_checked(check.error(), terminal);
  return tell(*check, looked->folder.behind, terminal);
}

ExitCode plan_repair(const FolderCheck& options, Terminal& terminal) {
  const auto looked = looked_into(options.folder, options.s3_keys, terminal);
  if (!looked) return not_looked(looked.error(), terminal);
  terminal.err << to_text(looked->folder.notes);
  const auto check = upkeep::check_store(*looked->store, !options.quick, terminal.interrupted);
  if (!check) return not_checked(check.error(), terminal);
  if (check->stopped) return stopped_early(terminal);
  std::vector<std::string> actions = opening_actions(looked->folder);
  actions.insert(actions.end(), check->actions.begin(), check->actions.end());
  for (const std::string& object : check->objects) terminal.out << object << '\n';
  for (const std::string& action : actions) terminal.out << "would " << action << '\n';
  terminal.out << (actions.empty()
                       ? std::string("There is nothing to do.\n")
                       : fmt::format("{} actions. Nothing was written; --apply carries them out.\n",
                                     actions.size()));
  return actions.empty() && check->clean() ? ExitCode::good : ExitCode::fails_rule;
}

ExitCode apply_repair(const FolderCheck& options, Terminal& terminal) {
  {
    auto runtime = opened_to_repair(options, terminal);
    if (!runtime) return refuse(terminal, runtime.error());
    terminal.err << to_text((*runtime)->folder().notes);
    if (const auto done = repair(**runtime, terminal); !done) return refuse(terminal, done.error());
  }
  if (terminal.interrupted()) {
    terminal.err << "Stopped; run it again to continue.\n";
    return ExitCode::interrupted;
  }
  return check_store_folder(options, terminal);
}

Result<std::string> status_at(const std::string& address) {
  const auto endpoint = s3::checked_endpoint(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  net::Client client({.total_s = 10});
  const net::Reply reply = client.ask({.url = *endpoint + "/-/status"});
  if (reply.fault == net::NetFault::none && reply.status == 200) return reply.body;
  const std::string why =
      reply.fault_text.empty() ? "it answered " + std::to_string(reply.status) : reply.fault_text;
  return fail(
      {.code = "store.status",
       .place = {},
       .what = "no store reports its status at " + *endpoint + ": " + why,
       .why = {},
       .fix = "give the address of the store; it answers other machines only with --open-metrics"});
}

ExitCode show_status(const std::string& address, Terminal& terminal) {
  const auto status = status_at(address);
  if (!status) return refuse(terminal, status.error());
  terminal.out << *status;
  return ExitCode::good;
}

ExitCode show_lineage(const std::string& object, const std::string& address,
                      const std::string& region, Terminal& terminal) {
  const auto name = object_name(object);
  if (!name) return refuse(terminal, name.error());
  const auto endpoint = s3::checked_endpoint(address);
  if (!endpoint) return refuse(terminal, endpoint.error());
  const auto environment = [](const char* name_of) -> std::string {
    const char* value = std::getenv(name_of);
    return value != nullptr ? value : "";
  };
  s3::Client client(
      {.endpoint = *endpoint,
       .bucket = name->bucket,
       .region = region,
       .credentials = {environment("ORRERY_ACCESS_KEY"), environment("ORRERY_SECRET_KEY"), ""}});
  const auto text = client.document(name->key, {{"orrery-lineage", ""}});
  if (!text) return refuse(terminal, {to_diagnostic(text.error())});
  terminal.out << *text;
  return ExitCode::good;
}

ExitCode show_lineage_in(const std::string& folder, const std::string& object, Terminal& terminal) {
  const auto name = object_name(object);
  if (!name) return refuse(terminal, name.error());
  const auto looked = looked_into(folder, "", terminal);
  if (!looked) return refuse(terminal, looked.error());
  const auto nodes =
      s3server::lineage_of(*looked->store, name->bucket, name->key,
                           [](const rows::Bucket&, const std::string&) { return true; });
  if (!nodes) {
    return refuse(terminal,
                  store_said("store.lineage", object + ": " + nodes.error().code).error());
  }
  terminal.out << s3server::lineage_text(*nodes);
  return ExitCode::good;
}

}  // namespace orrery::cli
