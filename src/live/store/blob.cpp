#include "live/store/blob.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>

#include "core/base/text.h"
#include "live/rows/codec.h"

namespace orrery::store {
namespace {

constexpr std::size_t kCrcBytes = 4;
// Stripes written by one call per file; more would not be faster.
constexpr std::size_t kBatchStripes = 16;

std::string crc_text(std::uint32_t crc) {
  std::string out(kCrcBytes, '\0');
  for (std::size_t i = 0; i < kCrcBytes; ++i) out[i] = static_cast<char>(crc >> (8 * i));
  return out;
}

std::uint32_t crc_of(std::string_view blob, int shard, std::uint64_t block, std::string_view data) {
  std::uint32_t crc = drives::block_crc(blob, 0xffffffffu);
  crc = drives::block_crc(rows::big_endian(static_cast<std::uint64_t>(shard)), crc);
  crc = drives::block_crc(rows::big_endian(block), crc);
  return drives::block_crc(data, crc);
}

std::string shard_header(const rows::Blob& blob, int shard) {
  std::string text = fmt::format("orrery-shard 1 {} {:02} {}+{} {}", blob.id, shard, blob.plan.data,
                                 blob.plan.parity, blob.block_bytes);
  text.resize(kShardHeaderBytes - kCrcBytes, ' ');
  return text + crc_text(drives::block_crc(text, 0xffffffffu));
}

// The fault for when no drive is left to take a shard. It names the missing drives.
drives::Fault too_few_drives(const DriveSet& drives, const Tier& tier) {
  std::string away;
  std::size_t there = 0;
  for (const std::string& name : tier.drives) {
    const auto found = drives.find(name);
    const bool is_there = found != drives.end() && found->second != nullptr;
    there += is_there ? 1 : 0;
    if (!is_there) away += (away.empty() ? "" : ", ") + name;
  }
  return {drives::PortFault::busy, fmt::format("tier {} needs {} drives for a write and has {}; "
                                               "missing: {}",
                                               tier.name, tier.plan.total(), there, away)};
}

}  // namespace

std::string shard_name(std::string_view blob, int shard, std::uint64_t revision) {
  return fmt::format("{}.{:02}.{}", blob, shard, revision);
}

std::uint64_t run_of(std::string_view blob) {
  std::uint64_t run = 0;
  const std::string_view digits = blob.substr(0, 8);
  std::from_chars(digits.data(), digits.data() + digits.size(), run, 16);
  return run;
}

std::optional<ShardName> shard_name_of(std::string_view file) {
  const auto parts = split(file, '.');
  if (parts.size() != 3 || parts[0].empty()) return std::nullopt;
  const auto shard = parse_integer(parts[1]);
  const auto revision = parse_integer(parts[2]);
  if (!shard || !revision || *shard < 0 || *shard >= drives::kShardsMax || *revision < 0)
    return std::nullopt;
  return ShardName{std::string(parts[0]), static_cast<int>(*shard),
                   static_cast<std::uint64_t>(*revision)};
}

BlobWriter::BlobWriter(const DriveSet& drives, const Tier& tier, std::string id,
                       std::uint64_t first, const KeyRing& keys)
    : drives_(drives), tier_(tier) {
  blob_.id = std::move(id);
  blob_.tier = tier.name;
  blob_.plan = tier.plan;
  blob_.block_bytes = kBlockBytes;
  blob_.key_id = keys.current;
  if (!keys.current.empty()) cipher_.emplace(keys.keys.at(keys.current), blob_.id);
  candidates_ = tier.drives;
  why_ = too_few_drives(drives, tier);
  if (candidates_.empty()) return;
  const auto turn = static_cast<std::ptrdiff_t>(first % candidates_.size());
  std::ranges::rotate(candidates_, candidates_.begin() + turn);
}

std::uint64_t BlobWriter::shard_bytes() const {
  const auto k = static_cast<std::uint64_t>(blob_.plan.data);
  const std::uint64_t besides = kCrcBytes + (cipher_ ? s3::kSealBytes : 0);
  const std::uint64_t whole = expected_ / (k * blob_.block_bytes);
  const std::uint64_t rest = expected_ % (k * blob_.block_bytes);
  return kShardHeaderBytes + whole * (blob_.block_bytes + besides) +
         (rest > 0 ? (rest + k - 1) / k + besides : 0);
}

// Opens the shard on the next drive that accepts it. Returns false if no drive is left.
bool BlobWriter::open_shard(std::size_t shard) {
  while (!candidates_.empty()) {
    const std::string name = candidates_.front();
    candidates_.erase(candidates_.begin());
    const auto found = drives_.find(name);
    if (found == drives_.end() || !found->second) continue;
    const std::string file_name = shard_name(blob_.id, static_cast<int>(shard), 0);
    auto file = found->second->create(file_name);
    if (!file) {
      why_ = file.error();
      continue;
    }
    const std::string header = shard_header(blob_, static_cast<int>(shard));
    const std::string_view pieces[] = {header};
    if (expected_ > 0) (*file)->expect(shard_bytes());
    if (auto done = (*file)->append(pieces); !done) {
      why_ = done.error();
      (void)found->second->remove(file_name);
      continue;
    }
    files_[shard] = std::move(*file);
    blob_.shards[shard].drive = name;
    return true;
  }
  return false;
}

drives::Outcome<void> BlobWriter::open() {
  if (opened_) return {};
  opened_ = true;
  const auto total = static_cast<std::size_t>(blob_.plan.total());
  blob_.shards.resize(total);
  files_.resize(total);
  for (std::size_t i = 0; i < total; ++i) {
    if (open_shard(i)) continue;
    if (auto go_on = lose(i, why_); !go_on) return go_on;
  }
  return {};
}

// A write may continue without a few of its shards. Half of the parity stays in reserve for later
// losses.
drives::Outcome<void> BlobWriter::lose(std::size_t shard, const drives::Fault& why) {
  files_[shard].reset();
  const auto drive = drives_.find(blob_.shards[shard].drive);
  if (drive != drives_.end() && drive->second) {
    (void)drive->second->remove(shard_name(blob_.id, static_cast<int>(shard), 0));
  }
  blob_.shards[shard].drive.clear();
  if (static_cast<int>(++lost_) <= blob_.plan.parity / 2) return {};
  return std::unexpected(why);
}

drives::Outcome<void> BlobWriter::append(std::string_view bytes) {
  blob_.size += bytes.size();
  const std::size_t whole = blob_.block_bytes * static_cast<std::size_t>(blob_.plan.data);
  if (!stripe_.empty()) {
    const std::size_t some = std::min(bytes.size(), whole - stripe_.size());
    stripe_ += bytes.substr(0, some);
    bytes.remove_prefix(some);
    if (stripe_.size() < whole) return {};
    if (auto done = add(stripe_); !done) return done;
  }
  for (; bytes.size() >= whole; bytes.remove_prefix(whole)) {
    if (auto done = add(bytes.substr(0, whole)); !done) return done;
  }
  if (auto done = write(); !done) return done;
  stripe_ = bytes;
  return {};
}

// Adds the stripe's blocks to the batch. Blocks that are views of `stripe` stay valid only until
// the batch is written, so `stripe` must live until then.
drives::Outcome<void> BlobWriter::add(std::string_view stripe) {
  if (auto good = open(); !good) return good;
  const auto k = static_cast<std::size_t>(blob_.plan.data);
  const std::size_t length = (stripe.size() + k - 1) / k;
  if (stripe.size() < length * k) {
    std::string& padded = batch_.made.emplace_back(stripe);
    padded.resize(length * k, '\0');
    stripe = padded;
  }
  std::vector<std::string_view> blocks;
  for (std::size_t i = 0; i < k; ++i) blocks.push_back(stripe.substr(i * length, length));
  for (std::size_t i = 0; cipher_ && i < k; ++i) {
    blocks[i] =
        batch_.made.emplace_back(cipher_->seal(static_cast<std::uint32_t>(i), stripes_, blocks[i]));
  }
  if (k > 1) {
    if (parities_.size() == batch_.stripes) parities_.emplace_back();
    std::vector<std::string>& parities = parities_[batch_.stripes];
    parities = drives::parity_of(blob_.plan, blocks, std::move(parities));
    blocks.insert(blocks.end(), parities.begin(), parities.end());
  }
  batch_.pieces.resize(files_.size());
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i]) continue;
    const std::string_view data = k == 1 ? blocks[0] : blocks[i];
    batch_.pieces[i].push_back(data);
    batch_.pieces[i].push_back(
        batch_.made.emplace_back(crc_text(crc_of(blob_.id, static_cast<int>(i), stripes_, data))));
  }
  ++stripes_;
  if (++batch_.stripes < kBatchStripes) return {};
  return write();
}

drives::Outcome<void> BlobWriter::write() {
  for (std::size_t i = 0; i < batch_.pieces.size(); ++i) {
    if (!files_[i] || batch_.pieces[i].empty()) continue;
    if (auto done = files_[i]->append(batch_.pieces[i]); !done) {
      if (auto go_on = lose(i, done.error()); !go_on) return go_on;
    }
  }
  batch_ = {};
  return {};
}

rows::Blob BlobWriter::held() {
  blob_.held = cipher_ ? cipher_->seal(0, 0, stripe_) : stripe_;
  blob_.held += crc_text(crc_of(blob_.id, 0, 0, blob_.held));
  return blob_;
}

drives::Outcome<rows::Blob> BlobWriter::finish() {
  if (!opened_ && blob_.size > 0 && blob_.size <= tier_.held_bytes_max) return held();
  if (!stripe_.empty()) {
    if (auto done = add(stripe_); !done) return std::unexpected(done.error());
    if (auto done = write(); !done) return std::unexpected(done.error());
  }
  if (auto good = open(); !good) return std::unexpected(good.error());
  for (const auto& file : files_) {
    if (file && files_.size() > 1) file->begin_sync();
  }
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i]) continue;
    if (auto done = files_[i]->sync(); !done) {
      if (auto go_on = lose(i, done.error()); !go_on) return std::unexpected(go_on.error());
    }
  }
  files_.clear();
  return blob_;
}

BlobReader::BlobReader(const DriveSet& drives, rows::Blob blob, const KeyRing& keys,
                       drives::Hedger* hedger)
    : drives_(drives), blob_(std::move(blob)), hedger_(hedger) {
  files_.resize(blob_.shards.size());
  const auto key = keys.keys.find(blob_.key_id);
  if (key != keys.keys.end()) cipher_.emplace(key->second, blob_.id);
}

std::size_t BlobReader::seal_length() const { return blob_.key_id.empty() ? 0 : s3::kSealBytes; }

std::uint64_t BlobReader::stripes() const {
  const std::uint64_t whole = blob_.block_bytes * static_cast<std::uint64_t>(blob_.plan.data);
  return (blob_.size + whole - 1) / whole;
}

std::size_t BlobReader::block_length(std::uint64_t stripe) const {
  const auto k = static_cast<std::uint64_t>(blob_.plan.data);
  const std::uint64_t left = blob_.size - std::min(blob_.size, stripe * blob_.block_bytes * k);
  return static_cast<std::size_t>(std::min(blob_.block_bytes, (left + k - 1) / k));
}

void BlobReader::take_back(int shard) {
  const auto slow = slow_.find(shard);
  if (slow == slow_.end()) return;
  const drives::SlowRead::Result& ended = slow->second->wait();
  if (ended.file) files_[static_cast<std::size_t>(shard)] = ended.file;
  slow_.erase(slow);
}

drives::Outcome<drives::DriveFile*> BlobReader::file(int shard) {
  const auto at = static_cast<std::size_t>(shard);
  take_back(shard);
  if (files_[at]) return files_[at].get();
  const rows::ShardPlace& place = blob_.shards[at];
  const auto drive = drives_.find(place.drive);
  if (drive == drives_.end() || !drive->second) {
    if (!place.drive.empty()) away_.insert(place.drive);
    return drives::fault(drives::PortFault::missing,
                         "the drive of shard " + std::to_string(shard) + " is missing");
  }
  auto opened = drive->second->open(shard_name(blob_.id, shard, place.revision));
  if (!opened) return std::unexpected(opened.error());
  files_[at] = std::move(*opened);
  return files_[at].get();
}

drives::Outcome<void> BlobReader::check_header(int shard) {
  auto from = file(shard);
  if (!from) return std::unexpected(from.error());
  std::string header(kShardHeaderBytes, '\0');
  const auto got = (*from)->read(0, header);
  if (!got) return std::unexpected(got.error());
  if (*got == header.size() && header == shard_header(blob_, shard)) return {};
  return drives::fault(drives::PortFault::corrupt, "the header of a shard does not match its blob");
}

drives::Outcome<void> BlobReader::check_held() const {
  const std::string_view stored = blob_.held;
  const bool whole = stored.size() == blob_.size + seal_length() + kCrcBytes;
  if (!whole)
    return drives::fault(drives::PortFault::corrupt,
                         "the number of bytes in the row of a blob is wrong");
  const std::string_view bytes = stored.substr(0, stored.size() - kCrcBytes);
  if (stored.substr(bytes.size()) == crc_text(crc_of(blob_.id, 0, 0, bytes))) return {};
  return drives::fault(drives::PortFault::corrupt,
                       "the checksum of the bytes in a blob's row is wrong");
}

drives::Outcome<std::string_view> BlobReader::checked_block(int shard, std::uint64_t stripe) {
  auto from = file(shard);
  if (!from) return std::unexpected(from.error());
  const std::size_t length = block_length(stripe) + seal_length();
  scratch_.resize(length + kCrcBytes);
  const auto got = timed(shard, [&] { return (*from)->read(place_of(stripe), scratch_); });
  if (!got) return std::unexpected(got.error());
  if (*got != scratch_.size())
    return drives::fault(drives::PortFault::corrupt, "a shard is truncated");
  const std::string_view bytes = std::string_view(scratch_).substr(0, length);
  if (std::string_view(scratch_).substr(length) ==
      crc_text(crc_of(blob_.id, shard, stripe, bytes))) {
    return bytes;
  }
  return drives::fault(drives::PortFault::corrupt, "the checksum of a block is wrong");
}

drives::Outcome<std::string> BlobReader::raw_block(int shard, std::uint64_t stripe) {
  const auto bytes = checked_block(shard, stripe);
  if (!bytes) return std::unexpected(bytes.error());
  return std::string(*bytes);
}

drives::Outcome<std::string> BlobReader::block(int shard, std::uint64_t stripe) {
  auto own = raw_block(shard, stripe);
  if (own) return own;
  std::optional<drives::Fault> busy;
  note_lost(shard, own.error(), busy);
  if (auto made = from_others(shard, stripe, [](int) { return true; }, busy)) return *made;
  if (busy) return std::unexpected(*busy);
  if (!away_.empty()) {
    return drives::fault(drives::PortFault::busy, fmt::format("drives of blob {} are missing: {}",
                                                              blob_.id, fmt::join(away_, ", ")));
  }
  return drives::fault(
      drives::PortFault::corrupt,
      fmt::format("blob {} has too few intact shards: {}", blob_.id, own.error().what));
}

// A shard whose drive cannot be reached is not damaged; its bytes may be the ones that are missing.
void BlobReader::note_lost(int shard, const drives::Fault& why,
                           std::optional<drives::Fault>& busy) {
  if (why.kind != drives::PortFault::busy) {
    damaged_.insert(shard);
  } else {
    busy = why;
  }
}

std::optional<std::string> BlobReader::from_others(int shard, std::uint64_t stripe,
                                                   const std::function<bool(int)>& asks,
                                                   std::optional<drives::Fault>& busy) {
  std::vector<std::optional<std::string>> others(blob_.shards.size());
  int found = 0;
  for (int i = 0; i < blob_.plan.total() && found < blob_.plan.data; ++i) {
    if (i == shard || !asks(i)) continue;
    auto other = raw_block(i, stripe);
    if (!other) {
      note_lost(i, other.error(), busy);
      continue;
    }
    others[static_cast<std::size_t>(i)] = std::move(*other);
    ++found;
  }
  return drives::rebuilt_block(blob_.plan, others, shard);
}

std::uint64_t BlobReader::place_of(std::uint64_t stripe) const {
  return kShardHeaderBytes + stripe * (blob_.block_bytes + seal_length() + kCrcBytes);
}

template <class Read>
drives::Outcome<std::size_t> BlobReader::timed(int shard, Read read) {
  if (!hedger_) return read();
  const auto begun = std::chrono::steady_clock::now();
  auto got = read();
  hedger_->note(
      blob_.shards[static_cast<std::size_t>(shard)].drive,
      std::chrono::duration_cast<drives::Micros>(std::chrono::steady_clock::now() - begun));
  return got;
}

// Returns null if the drive is missing, or should be read as usual.
std::shared_ptr<const drives::SlowRead> BlobReader::begin_slow(int shard, std::uint64_t stripe,
                                                               drives::Micros& delay) {
  const auto at = static_cast<std::size_t>(shard);
  const rows::ShardPlace& place = blob_.shards[at];
  const auto drive = drives_.find(place.drive);
  if (drive == drives_.end() || !drive->second) return nullptr;
  const std::size_t length = block_length(stripe) + seal_length() + kCrcBytes;
  auto begun = hedger_->begin(
      place.drive,
      [drive = drive->second, name = shard_name(blob_.id, shard, place.revision), file = files_[at],
       offset = place_of(stripe), length]() -> drives::SlowRead::Result {
        std::shared_ptr<drives::DriveFile> from = file;
        if (!from) {
          auto opened = drive->open(name);
          if (!opened) return {std::unexpected(opened.error())};
          from = std::move(*opened);
        }
        std::string bytes(length, '\0');
        const auto got = from->read(offset, bytes);
        if (!got) return {std::unexpected(got.error()), from};
        bytes.resize(*got);
        return {std::move(bytes), from};
      });
  if (!begun) return nullptr;
  delay = begun->delay;
  return slow_[shard] = begun->read;
}

std::optional<std::string> BlobReader::right_block(int shard, std::uint64_t stripe,
                                                   const drives::SlowRead& read) {
  const auto& stored = read.wait().bytes;
  const std::size_t length = block_length(stripe) + seal_length();
  if (!stored || stored->size() != length + kCrcBytes) return std::nullopt;
  std::string bytes = stored->substr(0, length);
  if (stored->substr(length) != crc_text(crc_of(blob_.id, shard, stripe, bytes))) {
    return std::nullopt;
  }
  return bytes;
}

std::optional<std::string> BlobReader::hedged_block(int shard, std::uint64_t stripe) {
  const auto drive_of = [this](int i) -> const std::string& {
    return blob_.shards[static_cast<std::size_t>(i)].drive;
  };
  if (!hedger_ || blob_.plan.parity == 0 || !hedger_->suspects(drive_of(shard))) {
    return std::nullopt;
  }
  // If the file is still in use by the read of an earlier block, only the other drives are read.
  const auto before = slow_.find(shard);
  const bool in_use = before != slow_.end() && !before->second->is_done();
  if (!in_use) take_back(shard);
  drives::Micros delay{0};
  const auto read = in_use ? nullptr : begin_slow(shard, stripe, delay);
  if (!in_use && !read) return std::nullopt;
  if (read && read->wait_for(delay)) return right_block(shard, stripe, *read);
  const auto asks = [&](int i) {
    return !(read && read->is_done()) && !slow_.contains(i) && !hedger_->suspects(drive_of(i));
  };
  std::optional<drives::Fault> busy;
  auto made = from_others(shard, stripe, asks, busy);
  hedger_->count(made.has_value());
  if (made || !read) return made;
  return right_block(shard, stripe, *read);
}

bool BlobReader::read_straight(int shard, std::uint64_t stripe, std::span<char> into) {
  auto from = file(shard);
  if (!from) return false;
  std::array<char, kCrcBytes> crc{};
  const auto got = timed(shard, [&] { return (*from)->read(place_of(stripe), into, crc); });
  if (!got || *got != into.size() + crc.size()) return false;
  return std::string_view(crc.data(), crc.size()) ==
         crc_text(crc_of(blob_.id, shard, stripe, {into.data(), into.size()}));
}

drives::Outcome<void> BlobReader::load_held(char* into) {
  if (auto good = check_held(); !good) return good;
  const std::string_view stored(blob_.held.data(), blob_.held.size() - kCrcBytes);
  if (!cipher_) {
    std::memcpy(into, stored.data(), stored.size());
    return {};
  }
  const auto opened = cipher_->open(0, 0, stored);
  if (!opened) {
    return drives::fault(drives::PortFault::corrupt,
                         "a block fails authentication: it was changed, or the key is wrong");
  }
  std::ranges::copy(*opened, into);
  return {};
}

// Reads the bytes of a whole stripe, including its padding.
drives::Outcome<void> BlobReader::load(std::uint64_t stripe, char* into) {
  if (!blob_.key_id.empty() && !cipher_) {
    return drives::fault(drives::PortFault::failed,
                         "the key " + blob_.key_id + " of a blob was not given");
  }
  if (!blob_.held.empty()) return load_held(into);
  const std::size_t length = block_length(stripe);
  for (int i = 0; i < blob_.plan.data; ++i) {
    char* const place = into + static_cast<std::size_t>(i) * length;
    std::string plain;
    std::string rebuilt = hedged_block(i, stripe).value_or(std::string());
    const bool hedged = !rebuilt.empty();
    if (!hedged && blob_.key_id.empty() && read_straight(i, stripe, {place, length})) continue;
    auto data = hedged ? drives::Outcome<std::string_view>(rebuilt) : checked_block(i, stripe);
    if (!data) {
      auto made = block(i, stripe);
      if (!made) return std::unexpected(made.error());
      rebuilt = std::move(*made);
      data = rebuilt;
    }
    if (cipher_) {
      auto opened = cipher_->open(static_cast<std::uint32_t>(i), stripe, *data);
      if (!opened)
        return drives::fault(drives::PortFault::corrupt,
                             "a block fails authentication: it was changed, or the key is wrong");
      plain = std::move(*opened);
      data = plain;
    }
    std::memcpy(place, data->data(), length);
  }
  return {};
}

drives::Outcome<std::size_t> BlobReader::read(std::uint64_t offset, std::span<char> into) {
  const auto k = static_cast<std::uint64_t>(blob_.plan.data);
  const std::uint64_t whole = blob_.block_bytes * k;
  std::size_t got = 0;
  while (got < into.size() && offset < blob_.size) {
    const std::uint64_t stripe = offset / whole;
    const auto at = static_cast<std::size_t>(offset - stripe * whole);
    const auto end = static_cast<std::size_t>(std::min(whole, blob_.size - stripe * whole));
    const std::size_t some = std::min(end - at, into.size() - got);
    if (some == whole && loaded_ != stripe) {  // directly to its destination
      if (auto done = load(stripe, into.data() + got); !done) return std::unexpected(done.error());
    } else {
      if (loaded_ != stripe) {
        loaded_.reset();
        stripe_.resize(block_length(stripe) * static_cast<std::size_t>(k));
        if (auto done = load(stripe, stripe_.data()); !done) return std::unexpected(done.error());
        loaded_ = stripe;
      }
      std::memcpy(into.data() + got, stripe_.data() + at, some);
    }
    got += some;
    offset += some;
  }
  return got;
}

drives::Outcome<void> write_shard(BlobReader& from, int shard, drives::Drive& drive,
                                  std::uint64_t revision) {
  const rows::Blob& blob = from.blob();
  auto file = drive.create(shard_name(blob.id, shard, revision));
  if (!file) return std::unexpected(file.error());
  const std::string header = shard_header(blob, shard);
  const std::string_view head[] = {header};
  if (auto done = (*file)->append(head); !done) return done;
  for (std::uint64_t stripe = 0; stripe < from.stripes(); ++stripe) {
    const auto data = from.block(shard, stripe);
    if (!data) return std::unexpected(data.error());
    const std::string crc = crc_text(crc_of(blob.id, shard, stripe, *data));
    const std::string_view pieces[] = {*data, crc};
    if (auto done = (*file)->append(pieces); !done) return done;
  }
  return (*file)->sync();
}

}  // namespace orrery::store
