#include "live/upkeep/copy_extents.h"

#include <algorithm>

namespace orrery::upkeep {
namespace {

constexpr std::size_t kCopyPieceBytes = std::size_t{1} << 20;

// Copies one blob. Returns nullopt if `stop` ended the copy or bytes were missing.
drives::Outcome<rows::Blob> copy_blob(store::ObjectReader& from, std::uint64_t begin,
                                      std::uint64_t bytes, store::BlobWriter& to,
                                      const std::function<bool()>& stop) {
  std::string piece;
  for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
    if (stop()) return drives::fault(drives::PortFault::failed, "stopped");
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyPieceBytes, bytes - done)));
    const auto got = from.read(begin + done, piece);
    if (!got) return std::unexpected(got.error());
    if (*got != piece.size())
      return drives::fault(drives::PortFault::corrupt,
                           "the source of the copy is shorter than its row says");
    if (auto written = to.append(piece); !written) return std::unexpected(written.error());
  }
  return to.finish();
}

}  // namespace

store::Answer<CopiedExtents> copy_extents(store::Store& store, store::ObjectReader& from,
                                          const std::vector<rows::Extent>& extents,
                                          const std::string& tier,
                                          const std::function<bool()>& stop) {
  CopiedExtents made;
  std::uint64_t begin = 0;
  for (const rows::Extent& extent : extents) {
    made.extents.push_back(extent);
    if (extent.blob.empty()) continue;
    store::BlobWriter writer = store.writer(tier, extent.size);
    auto blob = copy_blob(from, begin, extent.size, writer, stop);
    if (!blob) {
      store.forget(writer.so_far());
      for (const rows::Blob& before : made.blobs) store.forget(before);
      return store::refused(blob.error());
    }
    made.extents.back().blob = blob->id;
    made.blobs.push_back(std::move(*blob));
    begin += extent.size;
  }
  return made;
}

}  // namespace orrery::upkeep
