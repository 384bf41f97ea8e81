#include "app/cli/store_offline.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "app/cli/verb.h"
#include "live/net/client.h"
#include "live/s3/client.h"
#include "live/s3server/lineage.h"
#include "live/s3server/runtime.h"
#include "live/s3server/secrets.h"
#include "live/store/mend.h"
#include "live/store/sweep.h"

namespace orrery::cli {
namespace {

std::unexpected<Diagnostics> store_said(const char* code, const std::string& what) {
  return fail({.code = code, .place = {}, .what = what, .why = {}, .fix = {}});
}

Result<std::unique_ptr<s3server::Runtime>> opened(const std::string& folder, bool replace_drives,
                                                  const std::string& s3_keys, Terminal& terminal) {
  if (!std::filesystem::exists(folder + "/store")) {
    return fail({.code = "store.format",
                 .place = {folder},
                 .what = "there is no store here",
                 .why = {},
                 .fix = {}});
  }
  auto access = s3_access(s3_keys, terminal);
  if (!access) return std::unexpected(access.error());
  return s3server::Runtime::open(
      {.folder = folder,
       .s3 = std::move(*access),
       .keeps_house = false,
       .replace_drives = replace_drives,
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
                 .what = "'" + text + "' is no object",
                 .why = {},
                 .fix = "write BUCKET/KEY"});
  }
  return ObjectName{text.substr(0, slash), text.substr(slash + 1)};
}

// Writes anew what is damaged, removes what nothing names.
Result<void> repair(s3server::Runtime& runtime, Terminal& terminal) {
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

}  // namespace

Result<store::S3Access> s3_access(const std::string& file, const Terminal& terminal) {
  store::S3Access access;
  if (!file.empty()) {
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
  const bool mends = options.mends;
  auto runtime = opened(options.folder, mends, options.s3_keys, terminal);
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

Result<std::string> status_at(const std::string& address) {
  const auto endpoint = s3::checked_endpoint(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  net::Client client({.total_s = 10});
  const net::Reply reply = client.ask({.url = *endpoint + "/-/status"});
  if (reply.fault == net::NetFault::none && reply.status == 200) return reply.body;
  const std::string why =
      reply.fault_text.empty() ? "it answers " + std::to_string(reply.status) : reply.fault_text;
  return fail({.code = "store.status",
               .place = {},
               .what = "no store says how it stands at " + *endpoint + ": " + why,
               .why = {},
               .fix = "name its address; from another machine it answers with --open-metrics"});
}

ExitCode show_status(const std::string& address, Terminal& terminal) {
  const auto status = status_at(address);
  if (!status) return refuse(terminal, status.error());
  terminal.out << *status;
  return ExitCode::good;
}

ExitCode show_lineage(const std::string& object, const std::string& address, Terminal& terminal) {
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
       .credentials = {environment("ORRERY_ACCESS_KEY"), environment("ORRERY_SECRET_KEY"), ""}});
  const auto text = client.document(name->key, {{"orrery-lineage", ""}});
  if (!text) return refuse(terminal, {to_diagnostic(text.error())});
  terminal.out << *text;
  return ExitCode::good;
}

ExitCode show_lineage_in(const std::string& folder, const std::string& object, Terminal& terminal) {
  const auto name = object_name(object);
  if (!name) return refuse(terminal, name.error());
  const auto runtime = opened(folder, false, "", terminal);
  if (!runtime) return refuse(terminal, runtime.error());
  const auto nodes = s3server::lineage_of((*runtime)->store(), name->bucket, name->key,
                                          [](const store::Bucket&) { return true; });
  if (!nodes) {
    return refuse(terminal,
                  store_said("store.lineage", object + ": " + nodes.error().code).error());
  }
  terminal.out << s3server::lineage_text(*nodes);
  return ExitCode::good;
}

}  // namespace orrery::cli
