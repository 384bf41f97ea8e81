#include "live/agent/lifecycle_lines.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/printable.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::agent {
namespace {

using LifecycleJson = nlohmann::ordered_json;
using storage::LifecycleEvent;
using storage::LifecycleEventKind;
constexpr int kLifecycleJournalVersion = 1;

std::string text_at(const LifecycleJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Seconds seconds_at(const LifecycleJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? seconds(found->get<double>()) : Seconds();
}

std::optional<LifecycleEvent> event_of(const LifecycleJson& json) {
  const auto kind = from_word<LifecycleEventKind>(text_at(json, "kind"));
  if (!kind) return std::nullopt;
  const auto good = json.find("good");
  return LifecycleEvent{.kind = *kind,
                        .at = seconds_at(json, "at_s"),
                        .item = text_at(json, "item"),
                        .place = text_at(json, "place"),
                        .stamp = text_at(json, "stamp"),
                        .digest = text_at(json, "digest"),
                        .key = text_at(json, "key"),
                        .until = seconds_at(json, "until_s"),
                        .good = good != json.end() && good->is_boolean() && good->get<bool>(),
                        .why = text_at(json, "why"),
                        .clock = {text_at(json, "boot"), seconds_at(json, "up_s")},
                        .waited = seconds_at(json, "waited_s"),
                        .made = seconds_at(json, "made_s")};
}

bool is_header(const LifecycleJson& json) {
  return json.is_object() && text_at(json, "kind") == "lifecycle" &&
         json.value("version", 0) == kLifecycleJournalVersion;
}

std::unexpected<Diagnostics> no_journal(const std::string& file, int line, std::string what) {
  return fail({.code = "journal.unreadable",
               .place = {.file = file, .line = line},
               .what = std::move(what),
               .fix = "name another journal, or a file that does not exist yet"});
}

LifecycleEventKind kind_of(storage::CopyFinding finding) {
  switch (finding) {
    case storage::CopyFinding::good:
      return LifecycleEventKind::verified;
    case storage::CopyFinding::corrupt:
      return LifecycleEventKind::corrupt;
    case storage::CopyFinding::conflict:
      return LifecycleEventKind::conflict;
  }
  return LifecycleEventKind::corrupt;
}

}  // namespace

std::string lifecycle_header() {
  return fmt::format(R"({{"kind":"lifecycle","version":{}}})", kLifecycleJournalVersion);
}

std::string line_of(const LifecycleEvent& event) {
  LifecycleJson json = {{"kind", word_of(event.kind)}};
  const auto put = [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  if (event.at != Seconds()) json["at_s"] = event.at.base();
  put("item", event.item), put("place", event.place), put("stamp", event.stamp);
  put("digest", event.digest), put("key", event.key);
  if (event.until != Seconds()) json["until_s"] = event.until.base();
  if (event.good) json["good"] = true;
  put("why", event.why), put("boot", event.clock.boot);
  if (event.clock.up != Seconds()) json["up_s"] = event.clock.up.base();
  if (event.waited != Seconds()) json["waited_s"] = event.waited.base();
  if (event.made != Seconds()) json["made_s"] = event.made.base();
  return json.dump(-1, ' ', true, LifecycleJson::error_handler_t::replace);
}

std::string line_of(const LifecycleDone& done) {
  const storage::LifecycleAction& action = done.action;
  LifecycleJson json = {{"kind", word_of(action.kind)}, {"item", action.item}};
  if (!action.place.empty()) json["place"] = action.place;
  if (!action.from.empty()) json["from"] = action.from;
  if (action.size > Bytes()) json["size_bytes"] = action.size.base();
  json["why"] = action.why;
  json["good"] = done.good;
  if (!done.said.empty()) json["said"] = done.said;
  return json.dump(-1, ' ', true, LifecycleJson::error_handler_t::replace);
}

std::string text_of(const LifecycleDone& done, bool is_dry_run) {
  const storage::LifecycleAction& action = done.action;
  const bool would = is_dry_run && action.kind != storage::LifecycleActionKind::verify &&
                     action.kind != storage::LifecycleActionKind::alert;
  std::string text = would ? "would " : "";
  text += fmt::format("{} {}", word_of(action.kind), printable(action.item));
  if (!action.from.empty()) text += "  " + action.from + " ->";
  if (!action.place.empty()) text += "  " + action.place;
  if (action.size > Bytes()) text += "  " + brief(action.size);
  text += "  (" + printable(action.why) + ')';
  if (!done.good && !would) text += "  failed: " + printable(done.said);
  return text;
}

std::vector<std::string> lines_of(const storage::LifecycleMemory& memory) {
  std::vector<std::string> lines = {lifecycle_header()};
  for (const auto& [id, item] : memory.items) {
    // The first good reading gives the item its digest, even if the item is bad by now.
    lines.push_back(line_of(
        {.kind = LifecycleEventKind::verified, .item = id, .place = "", .digest = item.digest}));
    for (const auto& [place, fact] : item.copies) {
      lines.push_back(line_of({.kind = kind_of(fact.finding),
                               .item = id,
                               .place = place,
                               .stamp = fact.stamp,
                               .digest = item.digest,
                               .why = fact.why}));
    }
    if (item.gone) {
      lines.push_back(line_of({.kind = LifecycleEventKind::gone, .at = *item.gone, .item = id}));
    }
  }
  for (const auto& [key, attempt] : memory.attempts) {
    const int times = attempt.good ? 1 : attempt.count;
    for (int i = 0; i < times; ++i) {
      lines.push_back(line_of({.kind = LifecycleEventKind::tried,
                               .at = attempt.last,
                               .key = key,
                               .good = attempt.good,
                               .why = attempt.why}));
    }
  }
  for (const auto& [place, until] : memory.busy_until) {
    const auto at = memory.paced_at.find(place);
    lines.push_back(line_of({.kind = LifecycleEventKind::paced,
                             .at = at == memory.paced_at.end() ? Seconds() : at->second,
                             .place = place,
                             .until = until}));
  }
  for (const auto& [key, fact] : memory.aside) {
    lines.push_back(line_of({.kind = LifecycleEventKind::aside,
                             .item = fact.item,
                             .place = fact.place,
                             .stamp = fact.stamp,
                             .digest = fact.digest,
                             .key = key,
                             .good = fact.is_seen,
                             .clock = fact.since,
                             .waited = fact.waited,
                             .made = fact.made}));
  }
  if (!memory.clock.boot.empty()) {
    lines.push_back(line_of(
        {.kind = LifecycleEventKind::ticked, .at = memory.clock_at, .clock = memory.clock}));
  }
  if (!memory.doubt.since.boot.empty()) {
    lines.push_back(line_of({.kind = LifecycleEventKind::jumped,
                             .until = memory.doubt.offset,
                             .clock = memory.doubt.since}));
  }
  for (const std::string& key : memory.alerted) {
    lines.push_back(line_of({.kind = LifecycleEventKind::alerted, .key = key}));
  }
  return lines;
}

JournalForm lifecycle_journal(const std::string& file) {
  return {.header = lifecycle_header(),
          .older = {},
          .check = [file](std::string_view text) -> Result<void> {
            const auto memory = recall_lifecycle(text, file);
            if (!memory) return std::unexpected(memory.error());
            return {};
          }};
}

Result<storage::LifecycleMemory> recall_lifecycle(std::string_view text, const std::string& file) {
  storage::LifecycleMemory memory;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    ++number;
    const LifecycleJson json = LifecycleJson::parse(line, nullptr, false);
    if (number == 1) {
      if (!is_header(json)) {
        return no_journal(file, 1, "this is not a journal of the lifecycle agent");
      }
      continue;
    }
    const auto event = json.is_object() ? event_of(json) : std::nullopt;
    if (!event) return no_journal(file, number, "this line is not an event");
    apply(memory, *event);
  }
  return memory;
}

}  // namespace orrery::agent
